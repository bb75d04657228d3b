package cmdline

import (
	"fmt"
	"go/doc/comment"
	"strings"
)

const (
	// gap is the number of spaces between two columns.
	gap = 4
	// minLeft is the smallest limit of the width of the first column, in which longer rows have a line of their own.
	minLeft = 30
)

// Help returns the help of a command, wrapped to a width.
func (p *Parser) Help(n *Node, width int) string {
	h := &helpWriter{width: width}
	usage := p.options.Name
	if summary := n.Summary(); summary != "" {
		usage += " " + summary
	}
	h.line("Usage: " + usage)
	if n.Help != "" {
		h.line("")
		h.wrap(n.Help)
	}
	h.arguments(n)
	h.flags(n)
	h.commands(n)
	if n.Parent == nil {
		h.line(fmt.Sprintf("\nRun \"%s <command> --help\" for more information on a command.", p.options.Name))
	}
	return h.String()
}

type helpWriter struct {
	strings.Builder
	width int
}

func (h *helpWriter) line(text string) {
	h.WriteString(strings.TrimRight(text, " "))
	h.WriteByte('\n')
}

// wrapped returns the lines of a text.
func wrapped(text string, width int) []string {
	var p comment.Parser
	printed := (&comment.Printer{TextWidth: width}).Text(p.Parse(strings.TrimSpace(text)))
	return strings.Split(strings.TrimSpace(string(printed)), "\n")
}

func (h *helpWriter) wrap(text string) {
	for _, line := range wrapped(text, h.width) {
		h.line(line)
	}
}

func (h *helpWriter) arguments(n *Node) {
	if len(n.Args) == 0 {
		return
	}
	h.line("\nArguments:")
	var rows [][2]string
	for _, a := range n.Args {
		rows = append(rows, [2]string{a.label, a.helpText()})
	}
	h.columns(rows)
}

// flags lists the flags of a command, after those of its parents. An empty row separates them.
func (h *helpWriter) flags(n *Node) {
	h.line("\nFlags:")
	var rows [][2]string
	for _, node := range n.chain() {
		first := true
		for _, f := range node.Flags {
			if f.Hidden {
				continue
			}
			if first && len(rows) > 0 {
				rows = append(rows, [2]string{})
			}
			first = false
			short := "    "
			if f.Short != 0 {
				short = "-" + string(f.Short) + ", "
			}
			rows = append(rows, [2]string{short + f.Summary(), f.helpText()})
		}
	}
	h.columns(rows)
}

// commands lists the commands below a node by their groups. Those without a group come first.
func (h *helpWriter) commands(n *Node) {
	groups := []string{"Commands:"}
	rows := map[string][][2]string{}
	for _, leaf := range n.leaves() {
		group := leaf.group()
		if group == "" {
			group = groups[0]
		}
		if rows[group] == nil && group != groups[0] {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], [2]string{leaf.Path(), leaf.Help})
	}
	for _, group := range groups {
		if len(rows[group]) > 0 {
			h.line("\n" + group)
			h.columns(rows[group])
		}
	}
}

// group returns the title of the group that lists the node: its own or that of its closest parent.
func (n *Node) group() string {
	for ; n != nil; n = n.Parent {
		if n.Group != "" {
			return n.Group
		}
	}
	return ""
}

// columns writes two columns, indented by two spaces.
func (h *helpWriter) columns(rows [][2]string) {
	width := h.width - 2
	limit := max(375*width/1000, minLeft)
	left := 0
	for _, row := range rows {
		if n := len(row[0]); n > left && n < limit {
			left = n
		}
	}
	for _, row := range rows {
		lines := wrapped(row[1], width-left-gap)
		if len(row[0]) < limit {
			h.line(fmt.Sprintf("  %-*s%*s%s", left, row[0], gap, "", lines[0]))
			lines = lines[1:]
		} else {
			h.line("  " + row[0])
		}
		for _, line := range lines {
			h.line(fmt.Sprintf("  %*s%s", left+gap, "", line))
		}
	}
}
