package cmdline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
)

// ErrHelp is returned for a command line with --help. The node is the command whose help is asked for.
var ErrHelp = errors.New("help requested")

// Parse stores the values of a command line in the grammar and returns the command that it names.
func (p *Parser) Parse(args []string) (*Node, error) {
	s := scan{parser: p, node: p.Root, rest: args, given: map[*Value]bool{}}
	for len(s.rest) > 0 {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if s.given[&p.help.Value] {
		return s.node, ErrHelp
	}
	if s.node.Default != nil {
		s.node = s.node.Default
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	return s.node, nil
}

// scan is the state of one parse.
type scan struct {
	parser *Parser
	node   *Node
	rest   []string
	// position is the index of the next argument of the node.
	position int
	// noFlags is set after "--".
	noFlags bool
	given   map[*Value]bool
}

// next consumes the next word, and a flag's value.
func (s *scan) next() error {
	word := s.rest[0]
	switch {
	case s.noFlags || !isFlag(word):
		return s.word(word)
	case word == "--":
		s.noFlags = true
		s.rest = s.rest[1:]
		return nil
	case strings.HasPrefix(word, "--"):
		name, value, hasValue := strings.Cut(word, "=")
		return s.flag(name, value, hasValue)
	}
	// Short flags without a value can share a word: -xy.
	for letters := word[1:]; ; {
		_, size := utf8.DecodeRuneInString(letters)
		name := "-" + letters[:size]
		letters = letters[size:]
		f, err := s.lookup(name)
		if err != nil {
			return err
		}
		if !f.IsBool() || letters == "" {
			return s.flag(name, letters, letters != "")
		}
		if err := s.store(&f.Value, "true"); err != nil {
			return err
		}
	}
}

// isFlag reports whether a word is a flag. "-" is an argument.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func (s *scan) flag(name, value string, hasValue bool) error {
	f, err := s.lookup(name)
	if err != nil {
		return err
	}
	s.rest = s.rest[1:]
	switch {
	case hasValue:
	case f.IsBool():
		value = "true"
	case len(s.rest) == 0:
		return fmt.Errorf("%s: missing value", f.label)
	case isFlag(s.rest[0]):
		return fmt.Errorf("%s: missing value before %s; perhaps try %s=%q?", f.label, s.rest[0], f.label, s.rest[0])
	default:
		value, s.rest = s.rest[0], s.rest[1:]
	}
	if !f.isSlice() {
		return s.store(&f.Value, value)
	}
	for _, part := range split(value) {
		if err := s.store(&f.Value, part); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) store(v *Value, text string) error {
	s.given[v] = true
	return v.set(text)
}

// lookup returns the flag with a spelling. The flags of a default command can be given without its name.
func (s *scan) lookup(spelling string) (*Flag, error) {
	node := s.node
	if node.Default != nil {
		node = node.Default
	}
	var known []string
	for _, f := range node.AllFlags() {
		spellings := f.spellings()
		if slices.Contains(spellings, spelling) {
			return f, nil
		}
		if !f.Hidden {
			known = append(known, spellings...)
		}
	}
	return nil, fmt.Errorf("unknown flag %s%s", spelling, suggestion(spelling, known))
}

// word consumes an argument or the name of a command.
func (s *scan) word(word string) error {
	if s.position < len(s.node.Args) {
		a := s.node.Args[s.position]
		if !a.isSlice() {
			s.position++
		}
		s.rest = s.rest[1:]
		return s.store(a, word)
	}
	var names []string
	for _, child := range s.node.Children {
		if child.Name == word {
			s.node, s.position, s.rest = child, 0, s.rest[1:]
			return nil
		}
		names = append(names, child.Name)
	}
	if s.node.Default != nil {
		s.node, s.position = s.node.Default, 0
		return nil
	}
	return fmt.Errorf("unexpected argument %s%s", word, suggestion(word, names))
}

// complete fills in environment variables and defaults, and checks the values.
func (s *scan) complete() error {
	if len(s.node.Children) > 0 {
		return missingCommand(s.node)
	}
	for _, n := range s.node.chain() {
		for _, v := range n.values() {
			if err := s.fillIn(v); err != nil {
				return err
			}
			if v.Required && !s.given[v] {
				continue // reported below
			}
			if err := v.checkEnum(); err != nil {
				return err
			}
		}
	}
	var flags, args []string
	ways := map[string]string{}
	for _, f := range s.node.AllFlags() {
		if f.Required && !s.given[&f.Value] {
			flags = append(flags, f.Summary())
		}
		if f.xor == "" || !s.given[&f.Value] {
			continue
		}
		if other := ways[f.xor]; other != "" {
			return fmt.Errorf("%s and %s can't be used together", other, f.label)
		}
		ways[f.xor] = f.label
	}
	for _, a := range s.node.Args {
		if a.Required && !s.given[a] {
			args = append(args, a.label)
		}
	}
	slices.Sort(flags)
	switch {
	case len(flags) > 0:
		return fmt.Errorf("missing flags: %s", strings.Join(flags, ", "))
	case len(args) > 0:
		return fmt.Errorf("expected %q", strings.Join(args, " "))
	}
	return nil
}

// fillIn sets a value that was not given to that of its environment variable, which counts as given, or its default.
func (s *scan) fillIn(v *Value) error {
	if s.given[v] {
		return nil
	}
	if v.env != "" && s.parser.options.Getenv != nil {
		if text := s.parser.options.Getenv(v.env); text != "" {
			return s.store(v, text)
		}
	}
	if !v.hasDefault || v.defaultText == "" && v.field.Kind() != reflect.Pointer {
		return nil
	}
	return v.set(v.defaultText)
}

func missingCommand(n *Node) error {
	const most = 5
	var names []string
	for _, child := range n.Children {
		names = append(names, strconv.Quote(child.Name))
	}
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return fmt.Errorf("expected one of %s", strings.Join(names, ", "))
}

// suggestion returns a question that names the words that are similar to a misspelt one.
func suggestion(word string, known []string) string {
	var similar []string
	for _, k := range known {
		if strings.HasPrefix(k, word) || core.EditDistance(word, k) <= 2 && len(k) > 3 {
			similar = append(similar, strconv.Quote(k))
		}
	}
	switch len(similar) {
	case 0:
		return ""
	case 1:
		return ", did you mean " + similar[0] + "?"
	}
	return ", did you mean one of " + strings.Join(similar, ", ") + "?"
}
