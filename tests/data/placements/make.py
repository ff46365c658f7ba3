#!/usr/bin/env python3
"""Makes the tables here of MaxText's golden placements.

    make.py SHARDING_INFO      (the folder that holds deepseek2-16b/)

A table holds one configuration. Its first line names the rules and the mesh; the others are
    kind  name  logical names  mesh axes
one logical name a dimension ("_": none); axes of a dimension have commas between ("-": none). A `weight` keeps axes of
size 1, an `activation` does not; activations whose logical names MaxText did not know are left out.
"""
import ast
import json
import pathlib
import re
import sys

RULES = {
    "rule_default": "maxtext_2026",
    "rule_ep-as-cp": "ep_as_cp",
    "rule_cp-as-ep": "cp_as_ep",
    "rule_ep-as-dp": "ep_as_dp",
    "rule_pure-fsdp": "pure_fsdp",
    "rule_pipeline-large-moe": "pipeline_large_moe",
    "rule_shard-exp-on-fsdp": "shard_exp_on_fsdp",
}


def spec_text(spec, rank):
    spec = list(spec) + [None] * (rank - len(spec))
    axes = [[s] if isinstance(s, str) else list(s or []) for s in spec]
    return " ".join(",".join(a) or "-" for a in axes)


def logical_text(names):
    return " ".join(n or "_" for n in names)


def short(name):
    return ".".join(re.findall(r"\w+", name))


def weights(folder):
    logical = json.loads((folder / "logical_shardings.json").read_text())
    named = json.loads((folder / "named_shardings.json").read_text())
    for name, entry in named.items():
        names = logical[name]["partition_spec"]
        yield "weight", short(name), logical_text(names), spec_text(entry["partition_spec"], len(names))


def activations(folder):
    dump = json.loads((folder / "input_shardings.json").read_text())
    for entry in dump["Activation Sharding Dump"]:
        for name, placed in entry.items():
            if placed["logic_axes"] == "Unknown":
                continue
            names = ast.literal_eval(placed["logic_axes"])
            spec = ast.parse(placed["PartitionSpec"], mode="eval").body.args
            spec = [ast.literal_eval(s) for s in spec]
            yield "activation", name.split(":")[0], logical_text(names), spec_text(spec, len(names))


def mesh(folder):
    named = json.loads((folder / "named_shardings.json").read_text())
    first = next(iter(named.values()))["mesh"]
    return ",".join(f"{a}={first['shape'][a]}" for a in first["axis_names"])


def main():
    here = pathlib.Path(__file__).parent
    for folder in sorted(pathlib.Path(sys.argv[1]).glob("deepseek2-16b/*/*/rule_*")):
        rule = folder.name.split("_ici")[0]
        rows = [("rules", RULES[rule], "mesh", mesh(folder)), *weights(folder), *activations(folder)]
        table = here / f"{folder.parent.parent.name}.{RULES[rule]}.tsv"
        table.write_text("".join("\t".join(r) + "\n" for r in rows))


if __name__ == "__main__":
    main()
