package webapp

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	templates "text/template/parse"
	"time"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/oauth"
)

var placeholder = regexp.MustCompile(`\{\w+\}`)

func TestEveryLanguageHasTheSameTexts(t *testing.T) {
	t.Parallel()
	for lang, table := range tables {
		for key, text := range table {
			other, ok := englishTexts[key]
			switch {
			case !ok:
				t.Errorf("%s: %s is not in the English table", lang, key)
			case strings.TrimSpace(text) == "":
				t.Errorf("%s: %s is empty", lang, key)
			case strings.HasPrefix(key, "problem.") || strings.HasPrefix(key, "field."):
				// English quotes the service's detail, other languages can't.
			case !slices.Equal(sortedMatches(placeholder, text), sortedMatches(placeholder, other)):
				t.Errorf("%s: %s has other placeholders than in English: %q, %q", lang, key, text, other)
			case !slices.Equal(sortedMatches(tag, text), sortedMatches(tag, other)):
				t.Errorf("%s: %s has other markup than in English: %q, %q", lang, key, text, other)
			}
		}
		for key := range englishTexts {
			if _, ok := table[key]; !ok {
				t.Errorf("%s: %s is missing", lang, key)
			}
		}
	}
}

func sortedMatches(r *regexp.Regexp, s string) []string {
	return slices.Sorted(slices.Values(r.FindAllString(s, -1)))
}

var (
	tag = regexp.MustCompile(`<[^>]*>`)
	// spoken are the attributes whose values users read or hear.
	spoken = regexp.MustCompile(`(?:aria-label|placeholder|title|alt|label)="([^"]*)"`)
	// textCall finds the keys of texts in a template.
	textCall = regexp.MustCompile(`\bt "([^"]+)"`)
)

func TestTemplatesHaveNoUntranslatedText(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("pages/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		trees := map[string]*templates.Tree{}
		tree := templates.New(name)
		tree.Mode = templates.SkipFuncCheck
		if _, err := tree.Parse(string(source), "", "", trees); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, tree := range trees {
			collectText(tree.Root, &text)
		}
		for _, m := range spoken.FindAllStringSubmatch(text.String(), -1) {
			if hasLetters(m[1]) {
				t.Errorf("%s: untranslated attribute %s", name, m[0])
			}
		}
		visible := tag.ReplaceAllString(text.String(), "")
		if visible = strings.ReplaceAll(visible, "Carrel", ""); hasLetters(visible) {
			t.Errorf("%s: untranslated text %q", name, strings.TrimSpace(visible))
		}
		for _, m := range textCall.FindAllStringSubmatch(string(source), -1) {
			if _, ok := englishTexts[m[1]]; !ok {
				t.Errorf("%s: unknown key %s", name, m[1])
			}
		}
	}
}

// collectText writes the literal text of a template, with "" for each action, in the order of the source.
func collectText(node templates.Node, out *strings.Builder) {
	switch n := node.(type) {
	case *templates.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				collectText(child, out)
			}
		}
	case *templates.TextNode:
		out.Write(n.Text)
	case *templates.IfNode:
		collectText(n.List, out)
		collectText(n.ElseList, out)
	case *templates.WithNode:
		collectText(n.List, out)
		collectText(n.ElseList, out)
	case *templates.RangeNode:
		collectText(n.List, out)
		collectText(n.ElseList, out)
	}
}

func hasLetters(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// Handlers pass the keys of texts as string literals, which the compiler can't check.
func TestEveryKeyInTheSourceHasAText(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, key := range keysOf(n) {
				found++
				if _, ok := englishTexts[key]; !ok {
					t.Errorf("%s: no text for the key %s", name, key)
				}
			}
			return true
		})
	}
	for _, scope := range oauth.Scopes() {
		if _, ok := englishTexts["scope."+scope]; !ok {
			t.Errorf("no text for the scope %s", scope)
		}
	}
	for _, f := range oauth.Failures() {
		for _, key := range []string{"fail." + string(f), "fail." + string(f) + "_text"} {
			if _, ok := englishTexts[key]; !ok {
				t.Errorf("no text for the key %s", key)
			}
		}
	}
	for _, role := range []core.Role{core.RoleOwner, core.RoleAdmin, core.RoleMember} {
		if _, ok := englishTexts["role."+string(role)]; !ok {
			t.Errorf("no text for the role %s", role)
		}
	}
	if found < 20 {
		t.Errorf("only %d keys found: the test looks in the wrong place", found)
	}
}

// keysOf returns the keys of the texts that a call of texts.text or App.fail uses.
func keysOf(n ast.Node) []string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	literal := func(i int) string {
		if i < len(call.Args) {
			if lit, ok := call.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, _ := strconv.Unquote(lit.Value)
				return s
			}
		}
		return ""
	}
	switch method.Sel.Name {
	case "text":
		if key := literal(0); key != "" && !strings.HasSuffix(key, ".") {
			return []string{key}
		}
	case "fail":
		if name := literal(3); name != "" {
			return []string{"fail." + name, "fail." + name + "_text"}
		}
	}
	return nil
}

func TestTextFillsInAndEscapesValues(t *testing.T) {
	t.Parallel()
	got, err := englishTexts.html("signin.as", "email", `<i>{email}</i>&"`)
	want := markup("You are signed in as <b>&lt;i&gt;{email}&lt;/i&gt;&amp;&#34;</b>. " +
		"Sign in again to continue, or use another account.")
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := englishTexts.html("unknown"); err == nil {
		t.Error("an unknown key is no error")
	}
	at := time.Date(2026, time.March, 5, 9, 7, 0, 0, time.UTC)
	for lang, want := range map[language]string{english: "5 March 2026, 09:07 UTC", german: "5. März 2026, 09:07 UTC"} {
		if got := tables[lang].date(at); got != want {
			t.Errorf("%s: %s", lang, got)
		}
	}
	for d, want := range map[time.Duration]string{
		time.Second: "1 Sekunde", 1500 * time.Millisecond: "2 Sekunden", 90 * time.Second: "90 Sekunden",
		91 * time.Second: "2 Minuten",
	} {
		if got := germanTexts.wait(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func TestServiceErrorsAreTranslatedByCode(t *testing.T) {
	t.Parallel()
	limited := &core.Error{
		Kind: core.KindRateLimited, Code: "rate_limited", Detail: "Too many attempts.",
		RetryAfter: time.Minute,
	}
	weak := core.InvalidField("/password", "Too short.")
	for err, want := range map[error][2]string{
		limited: {
			"Too many attempts.",
			"Zu viele Versuche. Versuchen Sie es in 60 Sekunden erneut.",
		},
		core.Conflict("conflict", "Exists."): {"Exists.", germanTexts["problem.other"]},
		errors.New("disk"):                   {core.Internal(nil).Detail, germanTexts["problem.other"]},
	} {
		if got := [2]string{englishTexts.problem(err), germanTexts.problem(err)}; got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := englishTexts.firstField(weak); got != "Too short." {
		t.Error(got)
	}
	if got := germanTexts.firstField(weak); got != germanTexts["field.password"] {
		t.Error(got)
	}
	if got := germanTexts.field(core.FieldError{
		Pointer: "/plan",
		Detail:  "Unknown.",
	}); got != germanTexts["problem.other"] {
		t.Error(got)
	}
}

func TestLanguageComesFromTheCookieThenTheBrowser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cookie, accept string
		want           language
	}{
		{"", "", english},
		{"", "de", german},
		{"", "de-CH, en;q=0.8", german},
		{"", "en-GB,de;q=0.9", english},
		{"", "en;q=0.5, de;q=0.7", german},
		{"", "nl-NL, nl;q=0.9, de;q=0.8, en;q=0.7", german},
		{"", "fr-CA, en;q=0.7", french},
		{"", "es-419", spanish},
		{"", "nl", english},
		{"", "*", english},
		{"", "de;q=0", english},
		{"", "de;q=x, en", english},
		{"", "de;q=NaN", english},
		{"", "DE-de", german},
		{"", "den", english},
		{"de", "en", german},
		{"en", "de", english},
		{"fr", "de", french},
		{"nl", "de", german},
		{"../de", "", english},
	} {
		r := &http.Request{Header: http.Header{}}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: languageCookie, Value: c.cookie})
		}
		if c.accept != "" {
			r.Header.Set("Accept-Language", c.accept)
		}
		if got := languageOf(r); got != c.want {
			t.Errorf("cookie %q, Accept-Language %q: %s, want %s", c.cookie, c.accept, got, c.want)
		}
	}
}

// FuzzAcceptLanguage checks that every header selects a language with texts.
func FuzzAcceptLanguage(f *testing.F) {
	for _, seed := range []string{
		"", "de", "en;q=0.5,de", "*;q=0", ";;;", "de;q=1e400", "de;q=-1",
		"de;level=1;q=0.5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := acceptedLanguage(header)
		if tables[got] == nil {
			t.Errorf("%q selects %q", header, got)
		}
		if got == german && !strings.Contains(strings.ToLower(header), "de") {
			t.Errorf("%q selects German", header)
		}
	})
}
