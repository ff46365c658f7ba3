"""Training runs and what is asked of them: for train.py and the other tests of training."""
import json
import os
import pathlib
import subprocess

import compare
import golden
import packed

ROOT = golden.ROOT
DATA = ROOT / "tests" / "data" / "golden"
# The whole numbers, where DATA has a sample; not part of the repository.
WHOLE = ROOT.parent / "shared" / "golden"
UPDATE_BOUND = 5e-3


def is_full():
    return os.environ.get("SHARDC_FULL") == "1"


class Program:
    """A model built for a mesh; its runs write into a folder."""

    def __init__(self, shardc, config, mesh, folder, extra=(), in_memory=False):
        self.folder = pathlib.Path(folder)
        options = ["--config", config] + ([] if mesh == "-" else ["--mesh", mesh]) + list(extra)
        self.command = [shardc, "run", golden.MODEL, *options]
        if not in_memory:
            prog = self.folder / "prog"
            golden.run(shardc, "build", golden.MODEL, *options, "-o", prog)
            self.command = [prog]

    def train(self, steps, params, batch, extra=()):
        """-> {name: (shape, values)} after the last step, and the metrics, one of each step."""
        dump, metrics = self.folder / "dump.safetensors", self.folder / "metrics.jsonl"
        golden.run(*self.command, "--load", params, "--feed", batch, "--steps", steps, "--dump", dump, "--metrics", metrics,
                   *extra)
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        assert len(rows) == steps, f"{len(rows)} lines of metrics of {steps} steps"
        assert [r["step"] for r in rows] == list(range(1, steps + 1)), f"steps are numbered {[r['step'] for r in rows]}"
        return compare.load(dump), rows


def values_at(tensor, entry):
    shape, values = tensor
    assert shape == entry["shape"], f"{entry['name']} has shape {shape}, wanted {entry['shape']}"
    return [values[i] for i in packed.places(len(values), entry["stride"])]


def worst(got, want):
    """The largest difference; not a number counts as infinite."""
    return max((abs(g - w) if g == g else float("inf") for g, w in zip(got, want, strict=True)), default=0)


def check_bounds(what, found):
    """found: [(difference, bound, name)]. All that are over are told."""
    assert found, f"nothing to compare: {what}"
    over = [f"{name} by {d:.3g}, allowed {bound:.3g}" for d, bound, name in found if not d <= bound]
    assert not over, f"{what}: " + "; ".join(over)


def check_gradients(dump, tensors, prefix="", bound=1e-5):
    """Every gradient by position, relative to the largest of its tensor; exactly zero where that is wanted."""
    want = {k[len(prefix):]: t for k, t in tensors.items() if k.startswith(prefix + "grad.")}
    got = {k for k in dump if k.startswith("grad.")}
    assert got == want.keys(), f"gradients of other weights: {sorted(got ^ want.keys())}"
    found = [(worst(values_at(dump[k], t), t["values"]), bound * t["largest"], k) for k, t in want.items()]
    check_bounds("gradients differ", found)
    zero = [k for k, t in want.items() if t["largest"] == 0]
    assert all(k.endswith("gate_bias") for k in zero), f"wanted gradients are zero: {zero}"


def check_updates(dump, start, tensors, steps):
    """What the steps added to each parameter, where the first gradient is not small: relative to the largest addition, and
    beyond the rounding of the parameter itself, half an ulp a step: of a large weight that is as much as the bound."""
    found = []
    for name in start:
        entry = tensors[f"after_{steps}.{name}"]
        got, old = values_at(dump["param." + name], entry), values_at(start[name], entry)
        if entry["chosen"]:
            first = tensors["grad." + name]
            large = packed.chosen(first["values"], first["largest"])
            got, old = [g for g, is_large in zip(got, large) if is_large], [o for o, is_large in zip(old, large) if is_large]
        off = [max(abs(g - o - w) - steps * 2.0 ** -24 * abs(o), 0) if g == g else float("inf")
               for g, o, w in zip(got, old, entry["values"], strict=True)]
        found.append((max(off, default=0), UPDATE_BOUND * entry["largest"], name))
    check_bounds(f"parameters differ after {steps} steps", found)


def check_steps(metrics, numbers, bound=1e-5):
    """Those of losses, norms and rates of the steps that `numbers` has, relative."""
    wanted_of = {"loss": numbers.get("losses"), "grad_norm": numbers.get("grad_norms"), "lr": numbers.get("lrs"),
                 "grad_norm_clipped": numbers.get("clipped")}
    if wanted_of["grad_norm"] and not wanted_of["grad_norm_clipped"]:
        wanted_of["grad_norm_clipped"] = [min(n, 1.0) for n in wanted_of["grad_norm"]]
    for key, want in wanted_of.items():
        if want:
            check_bounds(f"{key} differs", [(abs(row[key] - w), bound * abs(w), f"step {row['step']}")
                                            for row, w in zip(metrics, want, strict=True)])


def whole_entry(name, tensor, chosen=None):
    """The entry of packed.read for a tensor of which every value is there."""
    shape, values = tensor
    entry = {"name": name, "shape": shape, "stride": 1, "largest": max(map(abs, values)), "chosen": chosen is not None}
    return entry | {"values": [v for v, is_chosen in zip(values, chosen) if is_chosen] if chosen else values}


def whole_tensors(folder):
    """The same as training.xz, from the whole numbers: ../shared/golden/NAME."""
    files = {"": "first", "packed.": "grads_packed", "plain.": "grads_plain_rope_default"}
    if not (folder / "first.safetensors").exists():
        files[""] = "grads_plain"
    tensors = {}
    for prefix, file in files.items():
        path = folder / f"{file}.safetensors"
        for name, t in compare.load(path).items() if path.exists() else ():
            if name.startswith("grad."):
                tensors[prefix + name] = whole_entry(prefix + name, t)
    for file, prefix in (("after_2", "after_2."), ("after_10", "after_10."), ("params_default_step10", "after_10.")):
        path = folder / f"{file}.safetensors"
        start = "params_init" if file.startswith("params") else "params"
        before = compare.load(folder / f"{start}.safetensors") if path.exists() else {}
        for name, (shape, values) in compare.load(path).items() if path.exists() else ():
            first = tensors["grad." + name]
            change = [a - b for a, b in zip(values, before[name][1])]
            tensors[prefix + name] = whole_entry(name, (shape, change), packed.chosen(first["values"], first["largest"]))
    return tensors


def wanted(name, file="training.xz"):
    """-> numbers, tensors of tests/data/golden/NAME; under SHARDC_FULL=1 every element, if they can be had."""
    numbers, tensors = packed.read(DATA / name / file)
    is_sample = any(t["stride"] > 1 for t in tensors.values())
    if is_full() and is_sample and file == "training.xz":
        if (WHOLE / name).is_dir():
            return numbers, whole_tensors(WHOLE / name)
        print(f"skipped: every element of {name}; {os.path.relpath(WHOLE, ROOT)} is not there")
    return numbers, tensors
