# What the walks share: assertions about JSON, exit codes and messages. A walk runs in an empty folder.
set -eu -o pipefail

# holds FILE... EXPRESSION: whether an expression of Python holds of `it`, the JSON document in the file, or of several
# files of `it, other, third`.
holds() {
  python3 - "$@" <<'PYTHON'
import json, sys
*files, expression = sys.argv[1:]
names = dict(zip(("it", "other", "third"), (json.load(open(file)) for file in files)))
if not eval(expression, dict(names)):
    sys.exit(f"{' '.join(files)}: not {expression}\n{json.dumps(names)[:3000]}")
PYTHON
}

# ends CODE WORDS COMMAND...: whether a command ends with this exit code, and says these words.
ends() {
  local code=0 said
  said=$("${@:3}" 2>&1) || code=$?
  if [ "$code" != "$1" ]; then
    echo "${*:3}: exit code $code instead of $1: $said" >&2
    return 1
  fi
  case "$said" in
    *"$2"*) ;;
    *) echo "${*:3}: does not say '$2' but: $said" >&2; return 1 ;;
  esac
}
