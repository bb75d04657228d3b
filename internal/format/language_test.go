package format_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"carrel/internal/format"
)

func TestFilesNameTheLanguageOfTheirDocuments(t *testing.T) {
	t.Parallel()
	files := map[string]struct{ content, want string }{
		"a.html": {`<html lang="de-AT"><title>T</title><p>x</p></html>`, "de-AT"},
		"b.html": {`<html lang="de"><meta name="DC.language" content="fr"><title>T</title><p>x</p></html>`, "fr"},
		"c.html": {
			`<html lang="de"><script type="application/ld+json">{"@type":"Article","headline":"T","inLanguage":"es"}` +
				`</script><p>x</p></html>`, "es",
		},
		"d.md":    {"---\ntitle: T\nlang: nl\n---\nx\n", "nl"},
		"e.bib":   {"@article{e, title={T}, language={German}}", "German"},
		"f.bib":   {"@article{f, title={T}, langid={ngerman}, language={x}}", "ngerman"},
		"g.ris":   {"TY  - JOUR\nID  - g\nTI  - T\nLA  - eng\nER  - \n", "eng"},
		"h.json":  {`[{"id":"h","type":"book","title":"T","language":"it"}]`, "it"},
		"i.csv":   {"id,title,language\ni,T,sv\n", "sv"},
		"j.jsonl": {`{"id":"j","title":"T","language":"pt-BR"}` + "\n", "pt-BR"},
		"k.txt":   {"x\n", ""},
	}
	dir := t.TempDir()
	for name, f := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(f.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lib, err := format.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		docs, wrong := read(t, lib)
		if len(docs) != 1 || len(wrong) > 0 || docs[0].Language != files[name].want {
			t.Errorf("%s: %+v (%v), want the language %q", name, docs, wrong, files[name].want)
		}
	}
}
