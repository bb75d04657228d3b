package cli

import (
	"fmt"
	"io"
	"strings"

	"carrel/internal/cli/cmdline"

	"carrel/internal/app"
	"carrel/internal/config"
)

type manCommand struct {
	Page string `arg:"" optional:"" enum:"carrel,carrel.conf" default:"carrel" help:"The page: carrel or carrel.conf."`
}

// Run prints a manual page in the man macros of roff.
func (c manCommand) Run(env *Env, root *cmdline.Node) error {
	page := commandPage(root)
	if c.Page == "carrel.conf" {
		page = settingsPage()
	}
	_, err := io.WriteString(env.Out, page)
	return err
}

// roff escapes text: a backslash, a hyphen that is to be copied, and a dot or quote at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func commandPage(root *cmdline.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH CARREL 1 \"\" \"carrel %s\" \"Carrel\"\n", roff(app.Version()))
	b.WriteString(".SH NAME\ncarrel \\- agents that know their sources\n.SH SYNOPSIS\n.B carrel\n.I command\n[flags]\n")
	b.WriteString(".SH DESCRIPTION\n")
	for p := range strings.SplitSeq(description, "\n") {
		fmt.Fprintf(&b, "%s\n.PP\n", roff(p))
	}
	b.WriteString("Flags of a command may also follow its subcommands.\n.SH COMMANDS\n")
	writeCommands(&b, root)
	b.WriteString(".SH ENVIRONMENT\nEvery setting of\n.BR carrel.conf (5)\nis also a variable, such as CARREL_ADDR.\n")
	b.WriteString(".SH EXIT STATUS\n0 success, 1 failure, 2 usage error. Client commands also 3 not signed in,\n")
	b.WriteString("4 not allowed, 5 not found, 6 conflict or limit, 7 server not reachable, 130 interrupted.\n")
	b.WriteString(".SH SEE ALSO\n.BR carrel.conf (5)\n")
	return b.String()
}

// writeCommands writes the commands below a node, with their own flags.
func writeCommands(b *strings.Builder, n *cmdline.Node) {
	for _, child := range n.Children {
		fmt.Fprintf(b, ".SS %s\n%s\n", roff(strings.ReplaceAll(child.Summary(), " [flags]", "")), roff(child.Help))
		for _, p := range child.Args {
			fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
		}
		for _, f := range child.Flags {
			if f.Hidden {
				continue
			}
			value := ""
			if !f.IsBool() {
				value = " \\fI" + roff(f.Placeholder()) + "\\fR"
			}
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s\n", roff("--"+f.Name), value, roff(f.Help))
		}
		writeCommands(b, child)
	}
}

func settingsPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH CARREL.CONF 5 \"\" \"carrel %s\" \"Carrel\"\n", roff(app.Version()))
	b.WriteString(".SH NAME\ncarrel.conf \\- settings of carrel\n.SH DESCRIPTION\n")
	b.WriteString("The file carrel.conf in the data folder, or the file named by CARREL_CONFIG, has lines of the form\n")
	b.WriteString(".IR \"name = value\" .\nLines that start with # are comments. Variables override the file, and flags\n")
	b.WriteString("override both. A secret can be read from a file named by the variable with the suffix _FILE.\n")
	b.WriteString(".SH SETTINGS\n")
	for _, s := range config.Defaults() {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR (%s)\n%s\n", roff(s.Name), roff(s.Env), roff(s.Help))
		if s.Value != "" {
			fmt.Fprintf(&b, "Default: %s.\n", roff(s.Value))
		}
	}
	b.WriteString(".SH SEE ALSO\n.BR carrel (1)\n")
	return b.String()
}
