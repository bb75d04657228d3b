package cmdline

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

type grammar struct {
	Show showCommand  `cmd:"" help:"Show things."`
	Set  setCommands  `cmd:"" group:"more" help:"Set things."`
	Find findCommand  `cmd:"" help:"Find things."`
	List listCommands `cmd:"" help:"List things."`
}

type common struct {
	Data *string `placeholder:"DIR" help:"${data}"`
	JSON bool    `name:"json" help:"Print JSON."`
}

type showCommand struct {
	common
	Name    string        `arg:"" help:"The name."`
	Page    string        `arg:"" optional:"" enum:"one,two" default:"one" help:"${enum}."`
	Output  string        `short:"o" type:"path" placeholder:"FILE" help:"The file."`
	Verbose bool          `short:"v" help:"Print more."`
	Limit   int           `default:"20" help:"Most."`
	Wait    time.Duration `default:"5s" env:"TEST_WAIT" help:"How long."`
	Since   *time.Time    `help:"Since."`
	Folder  string        `type:"existingdir" help:"A folder."`
	Old     bool          `hidden:"" help:"Ignored."`
}

type setCommands struct {
	common
	User setUserCommand `cmd:"" help:"Set a user."`
	Plan setPlanCommand `cmd:"" help:"Set a plan."`
}

type setUserCommand struct {
	User   string   `required:"" aliases:"email,u" placeholder:"EMAIL" help:"The account."`
	Name   string   `required:"" help:"The name."`
	Scopes []string `aliases:"scope" enum:"read,write" placeholder:"SCOPE" help:"The scopes."`
	Key    bool     `xor:"way" help:"Key."`
	Code   string   `xor:"way" help:"Code."`
}

type setPlanCommand struct{}

type findCommand struct {
	Words []string `arg:"" optional:"" help:"The words."`
	Exact bool     `help:"Exact."`
}

type listCommands struct {
	All listAllCommand `cmd:"" default:"withargs" help:"List all."`
	Add setPlanCommand `cmd:"" help:"Add one."`
}

type listAllCommand struct {
	common
	Words []string `arg:"" optional:"" help:"The words."`
}

func newTestParser(env map[string]string) (*grammar, *Parser) {
	g := new(grammar)
	return g, New(g, Options{
		Name: "prog", Description: "A program.", Groups: map[string]string{"more": "More:"},
		Vars:   func(name string) (string, bool) { return "The folder.", name == "data" },
		Getenv: func(name string) string { return env[name] },
	})
}

func parse(t *testing.T, line ...string) (*grammar, *Node) {
	t.Helper()
	g, p := newTestParser(nil)
	n, err := p.Parse(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return g, n
}

func TestFlagsAndArgumentsAreStoredInTheCommand(t *testing.T) {
	t.Parallel()
	g, n := parse(t, "show", "--data", "d", "a b", "--json", "-vo", "/f", "two", "--limit=-3", "--wait", "1m",
		"--since=2026-01-02T03:04:05Z")
	got := g.Show
	if n.Path() != "show" || n.Target() != &g.Show || *got.Data != "d" || got.Name != "a b" || !got.JSON || !got.Verbose ||
		got.Output != "/f" || got.Page != "two" || got.Limit != -3 || got.Wait != time.Minute || got.Since.Day() != 2 {
		t.Errorf("%s: %+v", n.Path(), got)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	g, _ = parse(t, "show", "--output=f", "--folder=.", "--", "--json")
	if got := g.Show; got.Output != dir+"/f" || got.Folder != dir || got.Name != "--json" || got.JSON || got.Data != nil {
		t.Errorf("%+v", got)
	}
	if g, _ = parse(t, "show", "-", "-o", "-", "--json=false"); g.Show.Name != "-" || g.Show.Output != "-" || g.Show.JSON {
		t.Errorf("%+v", g.Show)
	}
}

func TestDefaultsFillInWhatIsNotGiven(t *testing.T) {
	t.Parallel()
	g, p := newTestParser(map[string]string{"TEST_WAIT": "7s"})
	if _, err := p.Parse([]string{"show", "x"}); err != nil || g.Show.Limit != 20 || g.Show.Page != "one" ||
		g.Show.Wait != 7*time.Second {
		t.Errorf("%+v, %v", g.Show, err)
	}
	g, p = newTestParser(map[string]string{"TEST_WAIT": "7s"})
	if _, err := p.Parse([]string{"show", "x", "--wait=1s"}); err != nil || g.Show.Wait != time.Second {
		t.Errorf("%+v, %v", g.Show, err)
	}
	_, p = newTestParser(map[string]string{"TEST_WAIT": "soon"})
	_, err := p.Parse([]string{"show", "x"})
	if err == nil || !strings.Contains(err.Error(), "--wait: expected duration") {
		t.Error(err)
	}
	if _, err := p.Parse([]string{"find"}); err != nil {
		t.Error("the variable of another command:", err)
	}
}

func TestSlicesCollectValues(t *testing.T) {
	t.Parallel()
	g, n := parse(t, "set", "--json", "user", "--email", "a", "--name=n", "--scope=read,write", "--scopes", "read")
	if got := g.Set.User; n.Path() != "set user" || !g.Set.JSON || got.User != "a" ||
		!reflect.DeepEqual(got.Scopes, []string{"read", "write", "read"}) {
		t.Errorf("%s: %+v", n.Path(), g.Set)
	}
	if g, _ := parse(t, "find", "a,b", "--exact", "c"); !reflect.DeepEqual(g.Find.Words, []string{"a,b", "c"}) {
		t.Errorf("%+v", g.Find)
	}
	if got := split(`a\,b,c`); !reflect.DeepEqual(got, []string{"a,b", "c"}) {
		t.Error(got)
	}
}

func TestTheDefaultCommandRunsWithoutItsName(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{{"list"}, {"list", "all"}, {"list", "--json"}, {"list", "word", "--json"}} {
		g, n := parse(t, line...)
		if n.Path() != "list all" || g.List.All.JSON != (line[len(line)-1] == "--json") {
			t.Errorf("%q: %s, %+v", line, n.Path(), g.List.All)
		}
	}
	if _, n := parse(t, "list", "add"); n.Path() != "list add" {
		t.Error(n.Path())
	}
}

func TestAnInvalidCommandLineIsAnError(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                     `expected one of "show", "set", "find", "list"`,
		"set":                  `expected one of "user", "plan"`,
		"shwo":                 `unexpected argument shwo, did you mean "show"?`,
		"nothing":              `unexpected argument nothing`,
		"set plan extra":       `unexpected argument extra`,
		"show":                 `expected "<name>"`,
		"show x --jsn":         `unknown flag --jsn, did you mean "--json"?`,
		"show x --email=a":     `unknown flag --email`,
		"show x -ü":            `unknown flag -ü`,
		"show x --data":        `--data: missing value`,
		"show x --data --json": `--data: missing value before --json; perhaps try --data="--json"?`,
		"show x three":         `[<page>] must be one of "one","two" but got "three"`,
		"show x --limit=many":  `--limit: expected a valid 64 bit int but got "many"`,
		"show x --json=maybe":  `--json: bool value must be true, 1, yes, false, 0 or no but got "maybe"`,
		"show x --since=today": `--since: parsing time "today"`,
		"show x --folder=/no":  `--folder: stat /no: no such file or directory`,
		"show x one two":       `unexpected argument two`,
		"set user":             `missing flags: --name=STRING, --user=EMAIL`,
		"set user --user=a --name=b --scopes=all":       `--scopes must be one of "read","write" but got "all"`,
		"set user --user=a --name=b --code=c --key":     `--key and --code can't be used together`,
		"set user --user=a --name=b --scopes=read,,all": `--scopes must be one of "read","write" but got ""`,
	} {
		_, p := newTestParser(nil)
		_, err := p.Parse(strings.Fields(line))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestAMissingArgumentIsNotAnInvalidValue(t *testing.T) {
	t.Parallel()
	var g struct {
		Script struct {
			Shell string `arg:"" enum:"bash,zsh" help:"The shell."`
		} `cmd:"" help:"Print a script."`
	}
	_, err := New(&g, Options{Name: "prog"}).Parse([]string{"script"})
	if err == nil || err.Error() != `expected "<shell>"` {
		t.Error(err)
	}
}

func TestHelpDescribesTheCommandAndItsParents(t *testing.T) {
	t.Parallel()
	_, p := newTestParser(nil)
	help := func(line ...string) string {
		n, err := p.Parse(append(line, "--help"))
		if !errors.Is(err, ErrHelp) {
			t.Fatal(line, err)
		}
		return p.Help(n, 60)
	}
	const root = `Usage: prog <command>

A program.

Flags:
  -h, --help    Show context-sensitive help.

Commands:
  show        Show things.
  find        Find things.
  list all    List all.
  list add    Add one.

More:
  set user    Set a user.
  set plan    Set a plan.

Run "prog <command> --help" for more information on a command.
`
	if got := help(); got != root {
		t.Errorf("%s", got)
	}
	const show = `Usage: prog show <name> [<page>] [flags]

Show things.

Arguments:
  <name>      The name.
  [<page>]    one,two.

Flags:
  -h, --help             Show context-sensitive help.

      --data=DIR         The folder.
      --json             Print JSON.
  -o, --output=FILE      The file.
  -v, --verbose          Print more.
      --limit=20         Most.
      --wait=5s          How long ($TEST_WAIT).
      --since=SINCE      Since.
      --folder=STRING    A folder.
`
	if got := help("show"); got != show {
		t.Errorf("%s", got)
	}
	if got := help("set", "user"); !strings.HasPrefix(got, "Usage: prog set user --user=EMAIL --name=STRING [flags]\n") ||
		!strings.Contains(got, "--data=DIR") || !strings.Contains(got, "--scopes=SCOPE,...") {
		t.Errorf("%s", got)
	}
	if _, err := p.Parse([]string{"set", "--help", "--nonsense"}); errors.Is(err, ErrHelp) {
		t.Error("help hides an unknown flag")
	}
}

func TestAnInvalidGrammarPanics(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]any{
		"type": &struct{ F float64 }{},
		"variable": &struct {
			F bool `help:"${nothing}"`
		}{},
		"order": &struct {
			A string `arg:"" optional:""`
			B string `arg:""`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			New(g, Options{Vars: func(string) (string, bool) { return "", false }})
		}()
	}
}
