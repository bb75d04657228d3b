package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"carrel/internal/cli/cmdline"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints a completion script, generated from the commands.
func (c completionCommand) Run(env *Env, root *cmdline.Node) error {
	nodes := completionNodes(root)
	var script string
	switch c.Shell {
	case "bash":
		script = bashCompletion(nodes)
	case "zsh":
		script = zshCompletion(nodes)
	case "fish":
		script = fishCompletion(nodes)
	default:
		return errors.New("the shell must be bash, zsh or fish") // cmdline has checked the enum
	}
	_, err := io.WriteString(env.Out, script)
	return err
}

// completionNode is a command with the words that may follow it.
type completionNode struct {
	// path is the command with its parents, such as "carrel admin user".
	path     string
	commands []completionWord
	flags    []completionFlag
	// files reports whether the command takes file names as arguments.
	files bool
	// values are the values of an argument with a fixed set.
	values []string
}

type completionWord struct{ name, help string }

type completionFlag struct {
	completionWord
	takesValue, file bool
	values           []string
}

// completionNodes returns a command and all visible commands below it.
func completionNodes(n *cmdline.Node) []completionNode {
	node := completionNode{path: commandPath(n)}
	for _, child := range n.Children {
		node.commands = append(node.commands, completionWord{child.Name, firstSentence(child.Help)})
	}
	for _, f := range n.AllFlags() {
		if f.Hidden {
			continue
		}
		node.flags = append(node.flags, completionFlag{
			completionWord: completionWord{"--" + f.Name, firstSentence(f.Help)},
			takesValue:     !f.IsBool(), file: takesFile(f.Placeholder(), &f.Value), values: f.Enum,
		})
	}
	for _, p := range n.Args {
		node.values = append(node.values, p.Enum...)
		node.files = node.files || takesFile(strings.ToUpper(p.Name), p)
	}
	nodes := []completionNode{node}
	for _, child := range n.Children {
		nodes = append(nodes, completionNodes(child)...)
	}
	return nodes
}

// commandPath returns the names of a command and its parents.
func commandPath(n *cmdline.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

func takesFile(placeholder string, v *cmdline.Value) bool {
	return slices.Contains([]string{"FILE", "FILES", "DIR", "PATH", "PATHS", "FOLDER"}, strings.Trim(placeholder, "… ")) ||
		slices.Contains([]string{"path", "existingfile", "existingdir"}, v.Type)
}

// firstSentence shortens a help text for a list of completions.
func firstSentence(help string) string {
	help, _, _ = strings.Cut(strings.ReplaceAll(help, "\n", " "), ". ")
	return strings.TrimSuffix(help, ".")
}

// names joins the names of words.
func names[T any](words []T, name func(T) string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = name(w)
	}
	return strings.Join(all, " ")
}

func wordName(w completionWord) string { return w.name }
func flagName(f completionFlag) string { return f.name }

// flagKinds groups the flags of all commands by what follows them. A name with different meanings in two commands is
// left out, so that it completes to nothing rather than to something wrong.
type flagKinds struct {
	values, files []string
	enums         map[string][]string
}

func kindsOf(nodes []completionNode) flagKinds {
	byName := map[string]completionFlag{}
	conflicts := map[string]bool{}
	var order []string
	for _, n := range nodes {
		for _, f := range n.flags {
			earlier, seen := byName[f.name]
			if !seen {
				order = append(order, f.name)
				byName[f.name] = f
			} else if earlier.takesValue != f.takesValue || earlier.file != f.file || !slices.Equal(earlier.values, f.values) {
				conflicts[f.name] = true
			}
		}
	}
	kinds := flagKinds{enums: map[string][]string{}}
	for _, name := range order {
		f := byName[name]
		if conflicts[name] || !f.takesValue {
			continue
		}
		kinds.values = append(kinds.values, name)
		switch {
		case f.file:
			kinds.files = append(kinds.files, name)
		case len(f.values) > 0:
			kinds.enums[name] = f.values
		}
	}
	return kinds
}

// shellQuoted encloses text in single quotes.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// walkCommand is the part that bash and zsh share: it finds the command in the words before the cursor. A word is part
// of the command if the words so far and this one are a command; values of flags are skipped.
func walkCommand(b *strings.Builder, nodes []completionNode, kinds flagKinds) {
	fmt.Fprintf(b, "    case \"$word\" in\n      %s) skip=1; continue ;;\n    esac\n", strings.Join(kinds.values, "|"))
	b.WriteString("    case \"$command $word\" in\n")
	for _, n := range nodes[1:] {
		fmt.Fprintf(b, "      %s) command=\"$command $word\" ;;\n", shellQuoted(n.path))
	}
	b.WriteString("    esac\n")
}

func bashCompletion(nodes []completionNode) string {
	kinds := kindsOf(nodes)
	var b strings.Builder
	b.WriteString(`# bash completion for carrel. Load it with: source <(carrel completion bash)
_carrel() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=carrel skip= word words= i
  COMPREPLY=()
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word == = ]] && continue
    if [[ $skip ]]; then skip=; continue; fi
`)
	walkCommand(&b, nodes, kinds)
	b.WriteString("  done\n  case \"$prev\" in\n")
	if len(kinds.files) > 0 {
		fmt.Fprintf(&b, "    %s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n",
			strings.Join(kinds.files, "|"))
	}
	for _, name := range kinds.values {
		if values := kinds.enums[name]; values != nil {
			fmt.Fprintf(&b, "    %s) mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\"); return ;;\n",
				name, shellQuoted(strings.Join(values, " ")))
		}
	}
	fmt.Fprintf(&b, "    %s) return ;;\n  esac\n", strings.Join(kinds.values, "|"))
	b.WriteString("  case \"$command\" in\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "    %s)\n      if [[ $cur == -* ]]; then words=%s\n", shellQuoted(n.path),
			shellQuoted(names(n.flags, flagName)))
		fmt.Fprintf(&b, "      else words=%s; fi\n",
			shellQuoted(strings.TrimSpace(names(n.commands, wordName)+" "+strings.Join(n.values, " "))))
		if n.files {
			b.WriteString("      if [[ $cur != -* ]]; then\n        compopt -o filenames\n" +
				"        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n        return\n      fi\n")
		}
		b.WriteString("      ;;\n")
	}
	b.WriteString("  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\ncomplete -F _carrel carrel\n")
	return b.String()
}

func zshCompletion(nodes []completionNode) string {
	kinds := kindsOf(nodes)
	var b strings.Builder
	b.WriteString(`#compdef carrel
# zsh completion for carrel. Store it as _carrel in a folder of $fpath.
_carrel() {
  local command=carrel skip= word prev=${words[CURRENT-1]}
  local -a list
  for word in ${words[2,CURRENT-1]}; do
    if [[ -n $skip ]]; then skip=; continue; fi
`)
	walkCommand(&b, nodes, kinds)
	b.WriteString("  done\n  case \"$prev\" in\n")
	if len(kinds.files) > 0 {
		fmt.Fprintf(&b, "    %s) _files; return ;;\n", strings.Join(kinds.files, "|"))
	}
	for _, name := range kinds.values {
		if values := kinds.enums[name]; values != nil {
			fmt.Fprintf(&b, "    %s) list=(%s); _describe value list; return ;;\n", name, strings.Join(values, " "))
		}
	}
	fmt.Fprintf(&b, "    %s) return ;;\n  esac\n", strings.Join(kinds.values, "|"))
	described := func(w completionWord) string {
		return shellQuoted(strings.ReplaceAll(w.name, ":", `\:`) + ":" + w.help)
	}
	b.WriteString("  case \"$command\" in\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "    %s)\n      if [[ $PREFIX == -* ]]; then list=(%s)\n", shellQuoted(n.path),
			names(n.flags, func(f completionFlag) string { return described(f.completionWord) }))
		if n.files {
			b.WriteString("      else _files; return; fi\n      ;;\n")
			continue
		}
		fmt.Fprintf(&b, "      else list=(%s); fi\n      ;;\n",
			strings.TrimSpace(names(n.commands, described)+" "+strings.Join(n.values, " ")))
	}
	b.WriteString("  esac\n  (( ${#list} )) && _describe word list\n}\n")
	b.WriteString("if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _carrel \"$@\"; else compdef _carrel carrel; fi\n")
	return b.String()
}

func fishCompletion(nodes []completionNode) string {
	kinds := kindsOf(nodes)
	var b strings.Builder
	b.WriteString(`# fish completion for carrel. Store it as carrel.fish in ~/.config/fish/completions.
function __carrel_command
  set -l command carrel
  set -l skip
  for word in (commandline -opc)[2..]
    if test -n "$skip"
      set skip
      continue
    end
`)
	fmt.Fprintf(&b, "    switch $word\n      case %s\n        set skip 1\n        continue\n    end\n",
		strings.Join(kinds.values, " "))
	b.WriteString("    switch \"$command $word\"\n      case")
	for _, n := range nodes[1:] {
		b.WriteString(" " + shellQuoted(n.path))
	}
	b.WriteString("\n        set command \"$command $word\"\n    end\n  end\n  echo $command\nend\n")
	b.WriteString("function __carrel_at\n  test (__carrel_command) = \"$argv\"\nend\ncomplete -c carrel -f\n")
	for _, n := range nodes {
		at := "complete -c carrel -n " + fishQuoted("__carrel_at "+n.path)
		for _, w := range n.commands {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, w.name, fishQuoted(w.help))
		}
		if len(n.values) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", at, fishQuoted(strings.Join(n.values, " ")))
		}
		if n.files {
			fmt.Fprintf(&b, "%s -F\n", at)
		}
		for _, f := range n.flags {
			fmt.Fprintf(&b, "%s -l %s -d %s", at, strings.TrimPrefix(f.name, "--"), fishQuoted(f.help))
			switch {
			case f.file:
				b.WriteString(" -r -F")
			case len(f.values) > 0:
				b.WriteString(" -x -a " + fishQuoted(strings.Join(f.values, " ")))
			case f.takesValue:
				b.WriteString(" -x")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// fishQuoted encloses text in single quotes, in which fish knows only two escapes.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
