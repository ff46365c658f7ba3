import os
import lit.formats

config.name = "shardc"
config.test_format = lit.formats.ShTest()
config.suffixes = [".ir", ".shard", ".test"]
config.excludes = ["data", "models", "unit", "bench", "fuzz"]
build = lit_config.params["build"]
config.test_exec_root = os.path.join(build, "tests", "text")
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for name, value in [
    ("shardc", os.path.join(build, "shardc")),
    ("FileCheck", lit_config.params["filecheck"]),
    ("golden", "python3 " + os.path.join(root, "tests", "run", "golden.py")),
    ("stats", "python3 " + os.path.join(root, "tests", "run", "stats.py")),
    ("train", "python3 " + os.path.join(root, "tests", "run", "train.py")),
    ("train_maxtext", "python3 " + os.path.join(root, "tests", "run", "train_maxtext.py")),
    ("compare", "python3 " + os.path.join(root, "tests", "run", "compare.py")),
    ("exits", "python3 " + os.path.join(root, "tests", "fault", "exits.py")),
    ("broken", "python3 " + os.path.join(root, "tests", "fault", "broken.py")),
]:
    config.substitutions.append((r"(?<![/\w.-])%%?%s\b(?![/.-])" % name, value))
config.substitutions.append(("%root", root))
config.substitutions.append(("%examples", os.path.join(root, "examples")))
config.substitutions.append(("%data", os.path.join(root, "tests", "data")))
config.environment["LLVM_PROFILE_FILE"] = os.devnull
for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if key in os.environ:
        config.environment[key] = os.environ[key]
for key in ("SHARDC_ISOLATE", "LD_LIBRARY_PATH"):
    if key in os.environ:
        config.environment[key] = os.environ[key]
if os.environ.get("SHARDC_FULL") == "1": # every mesh, by hand
    config.environment["SHARDC_FULL"] = "1"
    config.available_features.add("full")
if "SHARDC_ISOLATE" in os.environ:
    config.available_features.add("isolate")
if "ASAN_OPTIONS" in os.environ:
    config.available_features.add("sanitized")
