"""Print what completes commands, options and names in a shell.

In bash: `eval "$(rooftile completion bash)"`, in zsh the same with zsh, in ~/.bashrc or ~/.zshrc.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rooftile.cli._options import model_names, operation_names

_SHELLS = ("bash", "zsh")
_ZSH = "autoload -Uz bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("shell", choices=_SHELLS, help="whose completion")


def command(arguments: argparse.Namespace) -> int:
    """Print the script.  Exit code 0."""
    print(script(arguments.parser, arguments.shell), end="")
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """A shell's functions that complete the command lines of a parser with commands.

    The names of an operation's shapes and strategies are asked for when they are wanted: to know
    them all takes longer than a shell may take to start.
    """
    commands = _commands(parser)
    cases = "\n".join(
        f"    {name}) words={_quoted(_words(command))} ;;" for name, command in commands.items()
    )
    made = f"""_rooftile() {{
  local words word what operation=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words={_quoted([*commands, "--help", "--version"])}
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
    --shape) what=shapes ;;
    --strategy) what=strategies ;;
  esac
  if [ -n "$what" ]; then
    for word in "${{COMP_WORDS[@]}}"; do
      case " {" ".join(operation_names())} " in *" $word "*) operation=$word ;; esac
    done
    [ -n "$operation" ] && words=$(rooftile list "$what" "$operation" --names 2>/dev/null)
  fi
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _rooftile rooftile
"""
    return _ZSH + made if shell == "zsh" else made


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(command: argparse.ArgumentParser) -> list[str]:
    """The options of a command, the values that they choose among, names of operations, models."""
    found: list[str] = []
    for action in command._actions:
        found += action.option_strings
        found += map(str, action.choices or ())
        found += _NAMES.get(str(action.metavar), list)()
    return list(dict.fromkeys(found))


def _quoted(words: list[str]) -> str:
    return '"' + " ".join(words) + '"'


_NAMES: dict[str, Callable[[], list[str]]] = {"OP": operation_names, "MODEL": model_names}
"""Completions of the placeholders in the help."""
