package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// escaperPrefix begins the names of html/template's escapers.
const escaperPrefix = "_html_template_"

// escapers are sequences of escapers, and the methods of writer that write a value with them. Others are an error: they
// are needed in contexts that the pages do not have, such as scripts.
var escapers = map[string]string{
	"htmlescaper":                         "html",
	"attrescaper":                         "attribute",
	"rcdataescaper":                       "title",
	"urlfilter urlnormalizer attrescaper": "address",
	"urlescaper attrescaper":              "addressPart",
}

// methods are the names after a dot that are methods instead of fields.
var methods = []string{"Counts", "DescribedBy"}

// compiler translates a template to statements of Go. The compiler of Go checks the types.
type compiler struct {
	out *bytes.Buffer
	// dots are the names of the values of "." in the enclosing blocks. The first one is the data of the template.
	dots    []string
	made    int // the number of names made
	usesDot bool
	err     error
}

func (c *compiler) fail(n parse.Node) string {
	if c.err == nil {
		c.err = fmt.Errorf("unsupported: %s", n)
	}
	return "nil"
}

func (c *compiler) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

func (c *compiler) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		c.node(n)
	}
}

func (c *compiler) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		c.printf("w.raw(%s)\n", quote(string(n.Text)))
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			c.printf("%s := %s\n", variable(n.Pipe.Decl[0]), c.pipe(n.Pipe))
			return
		}
		c.printf("%s\n", c.output(n.Pipe))
	case *parse.IfNode:
		c.printf("if truth(%s) {\n", c.pipe(n.Pipe))
		c.list(n.List)
		c.otherwise(n.ElseList)
	case *parse.WithNode:
		value, dot := c.pipe(n.Pipe), c.newDot()
		c.printf("if %s := %s; truth(%s) {\n", dot, value, dot)
		c.inside(dot, n.List)
		c.otherwise(n.ElseList)
	case *parse.RangeNode:
		c.rangeOver(n)
	case *parse.TemplateNode:
		c.printf("w.%sPart(%s)\n", n.Name, c.pipe(n.Pipe))
	case *parse.CommentNode:
	default:
		c.fail(n)
	}
}

// rangeOver ranges over a slice or a sequence. A range over a map would have another order than that of templates.
func (c *compiler) rangeOver(n *parse.RangeNode) {
	value, key, dot := c.pipe(n.Pipe), "_", ""
	switch d := n.Pipe.Decl; len(d) {
	case 0:
		dot = c.newDot()
	case 2:
		key, dot = variable(d[0]), variable(d[1])
	}
	if dot == "" || n.ElseList != nil {
		c.fail(n)
	}
	c.printf("for %s, %s := range %s {\n", key, dot, value)
	c.inside(dot, n.List)
	c.printf("}\n")
}

func (c *compiler) inside(dot string, l *parse.ListNode) {
	c.dots = append(c.dots, dot)
	c.list(l)
	c.dots = c.dots[:len(c.dots)-1]
}

func (c *compiler) otherwise(l *parse.ListNode) {
	if l != nil {
		c.printf("} else {\n")
		c.list(l)
	}
	c.printf("}\n")
}

func (c *compiler) newDot() string {
	c.made++
	return "dot" + strconv.Itoa(c.made)
}

// output returns the statement that writes a value. Its last commands must be a known sequence of escapers.
func (c *compiler) output(p *parse.PipeNode) string {
	value, names := "", ""
	for _, cmd := range p.Cmds {
		id, isCall := cmd.Args[0].(*parse.IdentifierNode)
		if isCall && strings.HasPrefix(id.Ident, escaperPrefix) {
			names += " " + strings.TrimPrefix(id.Ident, escaperPrefix)
			continue
		}
		if names != "" {
			return c.fail(p)
		}
		value = c.command(cmd, value)
	}
	write, known := escapers[strings.TrimPrefix(names, " ")]
	if !known {
		return c.fail(p)
	}
	return "w." + write + "(" + value + ")"
}

// pipe returns the expression of a pipeline. The value of each command is the last argument of the next.
func (c *compiler) pipe(p *parse.PipeNode) string {
	value := ""
	for _, cmd := range p.Cmds {
		value = c.command(cmd, value)
	}
	return value
}

func (c *compiler) command(cmd *parse.CommandNode, last string) string {
	id, isCall := cmd.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if last != "" || len(cmd.Args) > 1 {
			return c.fail(cmd)
		}
		return c.operand(cmd.Args[0])
	}
	args := []string{}
	for _, a := range cmd.Args[1:] {
		args = append(args, c.operand(a))
	}
	if last != "" {
		args = append(args, last)
	}
	return c.call(id, args)
}

// call returns the expression of a function. "and" and "or" are only used as conditions, so they return a bool.
func (c *compiler) call(id *parse.IdentifierNode, args []string) string {
	all := strings.Join(args, ", ")
	switch {
	case id.Ident == "not" && len(args) == 1:
		return "!truth(" + all + ")"
	case id.Ident == "or":
		return "(truth(" + strings.Join(args, ") || truth(") + "))"
	case id.Ident == "and":
		return "(truth(" + strings.Join(args, ") && truth(") + "))"
	case id.Ident == "eq" && len(args) == 2:
		return "(" + args[0] + " == " + args[1] + ")"
	case id.Ident == "print":
		return "fmt.Sprint(" + all + ")"
	case slices.Contains(functions, id.Ident):
		return "w." + id.Ident + "(" + all + ")"
	}
	return c.fail(id)
}

func (c *compiler) operand(n parse.Node) string {
	switch n := n.(type) {
	case *parse.DotNode:
		return c.dot(len(c.dots) - 1)
	case *parse.FieldNode:
		return c.dot(len(c.dots)-1) + fields(n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return c.dot(0) + fields(n.Ident[1:])
		}
		return strings.TrimPrefix(n.Ident[0], "$") + fields(n.Ident[1:])
	case *parse.PipeNode:
		return c.pipe(n)
	case *parse.IdentifierNode:
		return c.call(n, nil)
	case *parse.StringNode:
		return n.Quoted
	case *parse.NumberNode:
		return n.Text
	case *parse.BoolNode:
		return strconv.FormatBool(n.True)
	}
	return c.fail(n)
}

func (c *compiler) dot(i int) string {
	c.usesDot = c.usesDot || i == 0
	return c.dots[i]
}

func fields(names []string) string {
	out := ""
	for _, name := range names {
		out += "." + name
		if slices.Contains(methods, name) {
			out += "()"
		}
	}
	return out
}

func variable(n *parse.VariableNode) string { return strings.TrimPrefix(n.Ident[0], "$") }

func quote(text string) string {
	if strings.ContainsAny(text, "`\r") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
