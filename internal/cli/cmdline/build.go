// Package cmdline parses command lines. A struct describes the commands; field tags describe flags and arguments:
//
//	cmd           the field is a command, a struct of its own flags, arguments or commands
//	arg           the field is a positional argument; all other fields are flags
//	help          the description; ${enum} is the enum tag, ${name} a variable of Options.Vars
//	name          the name, if it is not that of the field in lower case with hyphens
//	short         the letter of the short form of a flag
//	aliases       further names of a flag, separated by commas
//	placeholder   the word for the value of a flag in help
//	required      the flag must be given
//	optional      the argument may be left out
//	default       the value if none is given; "withargs" on a command: it runs if its parent is given without a command
//	enum          the permitted values, separated by commas
//	env           the environment variable that sets the flag if the command line does not
//	xor           the name of a set of flags, of which at most one may be given
//	type          "path" makes a string an absolute path, "existingdir" also requires a folder there
//	hidden        the flag is not part of help
//	group         the key of the group in which help lists a command
//
// Embedded structs add their fields to the struct around them. Fields are strings, bools, ints, durations, times,
// pointers to them (nil means not given), and slices of strings, which collect repeated and comma-separated values.
//
// The package reads fields by reflection, but no methods: a program that looks up methods by name keeps the exported
// methods of all its types, which adds megabytes to it.
package cmdline

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options describe a program.
type Options struct {
	Name, Description string
	// Groups has the titles of groups of commands by their keys.
	Groups map[string]string
	// Vars returns the value of a variable in a help text.
	Vars func(name string) (value string, ok bool)
	// Getenv returns the value of an environment variable. Nil means that there are none.
	Getenv func(string) string
}

// Parser parses the command lines of a program.
type Parser struct {
	// Root is the program with all its commands.
	Root    *Node
	options Options
	help    *Flag
}

// New returns a parser that stores values in the fields of grammar, which is a pointer to a struct. It panics if the
// tags are invalid, because they are part of the program. It does not check that the names of flags are unique.
func New(grammar any, o Options) *Parser {
	help := &Flag{Short: 'h', Value: Value{
		Name: "help", label: "--help", Help: "Show context-sensitive help.",
		kind: kindBool, field: reflect.ValueOf(new(bool)).Elem(),
	}}
	root := &Node{Name: o.Name, Help: o.Description, target: reflect.ValueOf(grammar).Elem(), Flags: []*Flag{help}}
	p := &Parser{Root: root, options: o, help: help}
	p.addFields(root, root.target)
	return p
}

// addFields adds the commands, flags and arguments of a struct to a node.
func (p *Parser) addFields(n *Node, v reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		_, isCommand := field.Tag.Lookup("cmd")
		_, isArg := field.Tag.Lookup("arg")
		switch {
		case field.Anonymous:
			p.addFields(n, value)
		case !field.IsExported():
		case isCommand:
			p.addCommand(n, field, value)
		case isArg:
			p.addArg(n, field, value)
		default:
			p.addFlag(n, field, value)
		}
	}
	if len(n.Args) > 0 && len(n.Children) > 0 {
		panic(fmt.Sprintf("cmdline: %s has both arguments and commands", v.Type()))
	}
}

func (p *Parser) addCommand(parent *Node, field reflect.StructField, v reflect.Value) {
	n := &Node{
		Parent: parent, Name: nameOf(field), Help: field.Tag.Get("help"),
		Group: p.options.Groups[field.Tag.Get("group")], target: v,
	}
	p.addFields(n, v)
	parent.Children = append(parent.Children, n)
	if field.Tag.Get("default") == "withargs" {
		parent.Default = n
	}
}

func (p *Parser) addArg(n *Node, field reflect.StructField, v reflect.Value) {
	a := p.newValue(field, v)
	_, optional := field.Tag.Lookup("optional")
	a.Required = !optional && !a.hasDefault
	a.label = "<" + a.Name + ">"
	if a.isSlice() {
		a.label += " ..."
	}
	if !a.Required {
		a.label = "[" + a.label + "]"
	}
	if last := len(n.Args) - 1; last >= 0 && (n.Args[last].isSlice() || a.Required && !n.Args[last].Required) {
		panic(fmt.Sprintf("cmdline: argument %s can not follow %s", a.label, n.Args[last].label))
	}
	n.Args = append(n.Args, &a)
}

func (p *Parser) addFlag(n *Node, field reflect.StructField, v reflect.Value) {
	f := &Flag{Value: p.newValue(field, v), placeholder: field.Tag.Get("placeholder"), xor: field.Tag.Get("xor")}
	f.label = "--" + f.Name
	_, f.Required = field.Tag.Lookup("required")
	_, f.Hidden = field.Tag.Lookup("hidden")
	if short := field.Tag.Get("short"); short != "" {
		f.Short, _ = utf8.DecodeRuneInString(short)
	}
	if aliases := field.Tag.Get("aliases"); aliases != "" {
		f.aliases = strings.Split(aliases, ",")
	}
	n.Flags = append(n.Flags, f)
}

// newValue returns the part that flags and arguments share.
func (p *Parser) newValue(field reflect.StructField, v reflect.Value) Value {
	value := Value{
		Name: nameOf(field), Type: field.Tag.Get("type"), kind: kindOf(field.Type), env: field.Tag.Get("env"), field: v,
	}
	value.defaultText, value.hasDefault = field.Tag.Lookup("default")
	enum := field.Tag.Get("enum")
	if enum != "" {
		value.Enum = strings.Split(enum, ",")
	}
	value.Help = p.expand(field.Tag.Get("help"), enum)
	return value
}

// expand replaces the variables in a help text.
func (p *Parser) expand(help, enum string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(help, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		value, ok := enum, name == "enum"
		if !ok {
			value, ok = p.options.Vars(name)
		}
		if !ok {
			panic(fmt.Sprintf("cmdline: unknown variable ${%s} in a help text", name))
		}
		b.WriteString(value)
		help = after
	}
}

// nameOf returns the name tag of a field, or its name in lower case with hyphens: SkipInvalid becomes skip-invalid.
func nameOf(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	runes := []rune(field.Name)
	var b strings.Builder
	for i, r := range runes {
		endsWord := i > 0 && unicode.IsLower(runes[i-1])
		startsWord := i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) // the L in PDFLoader
		if unicode.IsUpper(r) && (endsWord || startsWord) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
