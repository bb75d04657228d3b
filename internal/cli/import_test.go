package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// importFolder returns a folder with files that are read, skipped and refused.
func importFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.txt":           "The first note.",
		"sub/b.md":        "# Second\n\nThe second note.",
		"sub/list.jsonl":  "{\"id\": \"1\", \"text\": \"one\"}\nbroken\n{\"id\": \"2\", \"text\": \"two\"}\n",
		".git/config.txt": "hidden",
		"photo.raw":       "no",
		"scan.pdf":        "not a PDF",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkImport runs an import three times: for new, unchanged and changed files.
func checkImport(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append(append([]string{"import"}, args...), dir)
	code, out, errs := run(t, args...)
	if code != exitFailed {
		t.Errorf("with refused files the exit code is %d: %s", code, errs)
	}
	mustContain(t, out, "added      a.txt\n", "refused    photo.raw: This file format is not supported.\n",
		"refused    scan.pdf: ", "added      sub/b.md\n", "added      sub/list.jsonl (2 documents), 1 skipped: line 2: ",
		"5 files: 3 added, 0 updated, 0 unchanged, 2 refused.\n")
	mustContain(t, errs, "4 of 4: sub/list.jsonl\n", "carrel: 2 of 5 files were refused\n")
	if n := strings.Count(out, "scan.pdf"); n != 1 {
		t.Errorf("a file is listed %d times", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("The first note, changed."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"photo.raw", "scan.pdf"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs = run(t, append(args, "--json")...)
	if code != exitOK {
		t.Errorf("the exit code is %d: %s", code, errs)
	}
	var object struct{ Files []importResult }
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range object.Files {
		got += f.Name + " " + f.Result + "; "
	}
	if want := "a.txt updated; sub/b.md unchanged; sub/list.jsonl unchanged; "; got != want {
		t.Errorf("the results are %q, want %q", got, want)
	}
}

func TestImportSendsAFolderToAServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	key := strings.TrimSpace(in.admin("key", "create", "--user", owner, "--name", "import"))
	base := in.serve()
	checkImport(t, importFolder(t), "--server", base, "--key", key, "--agent", agent)
	code, _, errs := run(t, "import", "--server", base, "--key", key, "--agent", agent, "--source", "None", t.TempDir())
	if code != exitFailed || !strings.Contains(errs, "the agent has no such source") {
		t.Errorf("for an unknown source it ends with %d: %s", code, errs)
	}
}

func TestImportFillsTheLocalInstallation(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	checkImport(t, importFolder(t), "--data", in.data, "--agent", agent)
	originals := 0
	err := filepath.WalkDir(filepath.Join(in.data, "originals"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			originals++
		}
		return err
	})
	if err != nil || originals != 3 { // a.txt twice and sub/b.md
		t.Errorf("%d originals are kept (%v)", originals, err)
	}
}

func TestImportOfAnEmptyFolderSaysWhatToDo(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	dir := t.TempDir()
	args := []string{"import", "--data", in.data, "--agent", in.agent("Library"), dir}
	code, out, errs := run(t, args...)
	if code != exitOK || !strings.HasPrefix(out, "No files found. Name files, or a folder") ||
		!strings.Contains(out, ".pdf, .docx") {
		t.Errorf("it ends with %d: %s%s", code, out, errs)
	}
	if code, out, _ := run(t, append(args, "--json")...); code != exitOK || out != "{\"files\":[]}\n" {
		t.Errorf("with --json it ends with %d: %s", code, out)
	}
}

func TestImportRefusesTheSecondFileOfAName(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	one, two := importFolder(t), importFolder(t)
	code, out, _ := run(t, "import", "--data", in.data, "--agent", agent,
		filepath.Join(one, "a.txt"), filepath.Join(two, "a.txt"))
	if code != exitFailed {
		t.Errorf("the exit code is %d", code)
	}
	mustContain(t, out, "added      a.txt\n", "refused    a.txt: Another file of this import has the same name.\n")
}

func TestImportToAServerNeedsAKeyOrAProfile(t *testing.T) {
	t.Parallel()
	code, _, problem := run(t, "import", "--server", "http://127.0.0.1:1", "--agent", "agt_1", importFolder(t))
	if code != exitSignIn {
		t.Errorf("the exit code is %d", code)
	}
	mustContain(t, problem, "Run: carrel login --server http://127.0.0.1:1\n")
}

func TestImportRetriesWhenTheServerIsBusy(t *testing.T) {
	t.Parallel()
	var uploads atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && uploads.Add(1) == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"detail": "Too many requests."}`))
		case r.Method == http.MethodPost:
			_, _ = w.Write([]byte(`{"uploads": [{"name": "a.txt"}]}`))
		case strings.HasSuffix(r.URL.Path, "/sources"):
			_, _ = w.Write([]byte(`{"sources": [{"id": "src_1", "kind": "upload", "default": true}]}`))
		case strings.HasSuffix(r.URL.Path, "/imports"):
			_, _ = w.Write([]byte(`{"imports": [{"state": "failed", "errors": [{"file": "", "reason": "The plan is full."}]}]}`))
		default:
			_, _ = w.Write([]byte(`{"files": []}`))
		}
	}))
	t.Cleanup(srv.Close)
	code, out, errs := run(t, "import", "--server", srv.URL, "--key", "k", "--agent", "agt_1",
		filepath.Join(importFolder(t), "a.txt"))
	if code != exitFailed || uploads.Load() != 2 {
		t.Errorf("exit code %d after %d uploads: %s", code, uploads.Load(), errs)
	}
	mustContain(t, out, "refused    a.txt: The plan is full.\n")
}

func TestSubfolderThatCanNotBeListedHidesItsFiles(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Log("the permissions of the folder are not checked, because root may read everything")
	}
	dir := importFolder(t)
	sub := filepath.Join(dir, "sub")
	if err := os.Chmod(sub, 0o000); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(sub, 0o700) }) // for the removal of the folder
	found, err := walkFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.name == "sub/" && (f.refused != reasonNotOpened || !f.hides("sub/b.md") || f.hides("subb.md")) {
			t.Errorf("the folder is listed as %+v", f)
		}
	}
	if os.Getuid() != 0 && found[len(found)-1].name != "sub/" {
		t.Errorf("the folder is not reported: %+v", found)
	}
}
