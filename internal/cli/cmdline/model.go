package cmdline

import (
	"reflect"
	"strconv"
	"strings"
)

// Node is the program or a command.
type Node struct {
	Name, Help string
	// Group is the title under which help lists the commands below the node. Empty means the group of its parent.
	Group    string
	Parent   *Node // nil for the program
	Children []*Node
	// Default is the child that runs if the command line names no child. Flags and arguments after the node are its own.
	Default *Node
	Flags   []*Flag
	Args    []*Value
	target  reflect.Value
}

// Target returns a pointer to the struct of the command.
func (n *Node) Target() any { return n.target.Addr().Interface() }

// Path returns the names of the command and its parents, without the name of the program.
func (n *Node) Path() string {
	switch {
	case n.Parent == nil:
		return ""
	case n.Parent.Parent == nil:
		return n.Name
	}
	return n.Parent.Path() + " " + n.Name
}

// Summary returns the path of the command with its required flags and its arguments.
func (n *Node) Summary() string {
	words := []string{}
	if n.Parent != nil {
		words = append(words, n.Path())
	}
	flags := n.AllFlags()
	for _, f := range flags {
		if f.Required {
			words = append(words, f.Summary())
		}
	}
	optional := 0
	for _, a := range n.Args {
		label := a.label
		if !a.Required {
			optional++
			label = strings.TrimSuffix(label, "]")
		}
		words = append(words, label)
	}
	if optional > 0 {
		words[len(words)-1] += strings.Repeat("]", optional)
	}
	if len(n.Children) > 0 {
		words = append(words, "<command>")
	}
	if n.takesOptionalFlags() {
		words = append(words, "[flags]")
	}
	return strings.Join(words, " ")
}

// takesOptionalFlags reports whether the node or its parent has an optional flag. Every command has --help, which does
// not count.
func (n *Node) takesOptionalFlags() bool {
	for ; n != nil && n.Parent != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Required {
				return true
			}
		}
	}
	return false
}

// AllFlags returns the flags that may follow the command: those of the program, of its parents and its own.
func (n *Node) AllFlags() []*Flag {
	var all []*Flag
	for _, node := range n.chain() {
		all = append(all, node.Flags...)
	}
	return all
}

// chain returns the nodes from the program to n.
func (n *Node) chain() []*Node {
	if n == nil {
		return nil
	}
	return append(n.Parent.chain(), n)
}

// leaves returns the commands below n that have no subcommands.
func (n *Node) leaves() []*Node {
	var leaves []*Node
	for _, child := range n.Children {
		if len(child.Children) == 0 {
			leaves = append(leaves, child)
		} else {
			leaves = append(leaves, child.leaves()...)
		}
	}
	return leaves
}

// values returns the flags and arguments of n, without those of its parents.
func (n *Node) values() []*Value {
	values := make([]*Value, 0, len(n.Flags)+len(n.Args))
	for _, f := range n.Flags {
		values = append(values, &f.Value)
	}
	return append(values, n.Args...)
}

// Value is an argument of a command, or the value of a flag.
type Value struct {
	Name, Help string
	Required   bool
	// Enum lists the permitted values. Empty means that all values are permitted.
	Enum []string
	// Type is the type tag: "path", "existingdir" or empty.
	Type string

	// label names the value in messages, such as "--name" or "[<word> ...]".
	label       string
	kind        kind
	env         string // the name of an environment variable
	hasDefault  bool
	defaultText string
	field       reflect.Value
}

// isSlice reports whether the value may be repeated.
func (v *Value) isSlice() bool { return v.field.Kind() == reflect.Slice }

// helpText returns the help with the name of the environment variable.
func (v *Value) helpText() string {
	if v.env == "" {
		return v.Help
	}
	text, found := strings.CutSuffix(v.Help, ".")
	text += " ($" + v.env + ")"
	if found {
		text += "."
	}
	return text
}

// Flag is a flag of a command, such as --data.
type Flag struct {
	Value
	// Short is the letter of the short form, or 0.
	Short rune
	// Hidden flags are not part of help.
	Hidden      bool
	placeholder string
	aliases     []string
	xor         string // the name of a set of flags, of which one may be given
}

// IsBool reports whether the flag takes no value.
func (f *Flag) IsBool() bool { return f.kind == kindBool }

// Placeholder returns the word that stands for the value of the flag in help.
func (f *Flag) Placeholder() string {
	tail := ""
	if f.isSlice() {
		tail = ",..."
	}
	switch kind := f.field.Kind(); {
	case f.placeholder != "":
		return f.placeholder + tail
	case f.hasDefault && kind == reflect.String:
		return strconv.Quote(f.defaultText)
	case f.hasDefault:
		return f.defaultText + tail
	case kind == reflect.Pointer || kind == reflect.Slice:
		return strings.ToUpper(f.Name) + tail
	}
	return strings.ToUpper(string(f.kind))
}

// Summary returns the flag with its placeholder, such as "--data=DIR".
func (f *Flag) Summary() string {
	if f.IsBool() {
		return f.label
	}
	return f.label + "=" + f.Placeholder()
}

// spellings returns the forms in which the flag may be given.
func (f *Flag) spellings() []string {
	all := []string{"--" + f.Name}
	if f.Short != 0 {
		all = append(all, "-"+string(f.Short))
	}
	for _, alias := range f.aliases {
		all = append(all, "--"+alias)
	}
	return all
}
