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
    ("compare", "python3 " + os.path.join(root, "tests", "run", "compare.py")),
]:
    config.substitutions.append((r"\b%s\b" % name, value))
config.substitutions.append(("%root", root))
config.substitutions.append(("%examples", os.path.join(root, "examples")))
config.substitutions.append(("%data", os.path.join(root, "tests", "data")))
config.environment["LLVM_PROFILE_FILE"] = os.devnull
for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if key in os.environ:
        config.environment[key] = os.environ[key]
