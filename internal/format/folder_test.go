package format_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAFolderGivesItsTextsInOrderAndReportsTheRest(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"b.txt": "B", "a.md": "A", "Z.HTML": "Z", "sub/deep/c.markdown": "C", "sub/d.htm": "D",
		"image.png": "x", ".hidden.md": "x", ".git/e.md": "x", "sub/.cache/f.md": "x", "README": "x",
	})
	docs, wrong := read(t, open(t, dir))
	if got := ids(docs); got != "Z.HTML a.md b.txt sub/d.htm sub/deep/c.markdown" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(wrong, "|"); got != "README is skipped, because its format is not supported|"+
		"image.png is skipped, because its format is not supported" {
		t.Errorf("wrong %s", got)
	}
}

func TestAFolderFollowsLinksToFilesInsideItOnly(t *testing.T) {
	t.Parallel()
	outside := write(t, map[string]string{"secret.md": "secret", "dir/also.md": "secret"})
	dir := write(t, map[string]string{".store/real.md": "# Real", "sub/a.md": "x"})
	for link, target := range map[string]string{
		"inside.md":  ".store/real.md",
		"outside.md": filepath.Join(outside, "secret.md"),
		"climb.md":   "../" + filepath.Base(outside) + "/secret.md",
		"dir":        filepath.Join(outside, "dir"),
		"loop":       ".",
		"nowhere.md": "nothing.md",
		"self.md":    "self.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	docs, wrong := read(t, open(t, dir))
	if got := ids(docs); got != "inside.md sub/a.md" || len(wrong) > 0 {
		t.Errorf("got %s, wrong %v", got, wrong)
	}
}

func TestABadFileIsReportedAndTheOthersAreRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a-data.txt": "caf\x00\xe9", "b-nul.md": "a\x00b", "c-big.txt": strings.Repeat("x", 20<<20+1),
		"d-long.txt": strings.Repeat("long text ", 600_000), "e-\x1b[31m.md": "\xff\x00\x01", "z.md": "good",
		strings.Repeat("deep/", 120) + "f.md": "x",
	})
	docs, wrong := read(t, open(t, dir))
	if ids(docs) != "z.md" {
		t.Errorf("got %s", ids(docs))
	}
	want := []string{
		"a-data.txt is not UTF-8 text; save it as UTF-8",
		"b-nul.md holds a NUL character; it may not be a text",
		"c-big.txt is larger than 20 MiB",
		"d-long.txt has a text of more than 5 MiB",
		strings.Repeat("deep/", 120) + "f.md has an id of more than 512 characters",
		`"e-\x1b[31m.md" is not UTF-8 text; save it as UTF-8`,
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("got %q", wrong)
	}
}

func TestANameThatIsNotUTF8IsReported(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"good.md": "x"})
	if os.WriteFile(filepath.Join(dir, "bad\xff.md"), []byte("x"), 0o600) != nil ||
		os.Mkdir(filepath.Join(dir, "dir\xff"), 0o755) != nil {
		t.Skip("such names can't be made here")
	}
	docs, wrong := read(t, open(t, dir))
	want := []string{`"bad\xff.md" has a name that is not UTF-8`, `"dir\xff" has a name that is not UTF-8`}
	if ids(docs) != "good.md" || !slices.Equal(wrong, want) {
		t.Errorf("got %s, wrong %q", ids(docs), wrong)
	}
}

func TestAFileThatMayNotBeReadIsReported(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.md": "x", "b.md": "x"})
	if err := os.Chmod(filepath.Join(dir, "a.md"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	docs, wrong := read(t, open(t, dir))
	if ids(docs) != "b.md" || !slices.Equal(wrong, []string{"a.md can't be opened: permission denied"}) {
		t.Errorf("got %s, wrong %q", ids(docs), wrong)
	}
}

func TestTextsAreDecodedByTheirByteOrderMark(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"8.txt":  "\xef\xbb\xbfÄ\r\nb\rc",
		"be.txt": "\xfe\xff\x00\xc4\x00\n\x00b\x00\n\x00c",
		"le.txt": "\xff\xfe\xc4\x00\n\x00b\x00\n\x00c\x00",
	})
	docs, wrong := read(t, open(t, dir))
	if len(docs) != 3 || len(wrong) > 0 {
		t.Fatalf("got %v, wrong %v", docs, wrong)
	}
	for _, d := range docs {
		if d.Text != "Ä\nb\nc" {
			t.Errorf("%s: %q", d.ExternalID, d.Text)
		}
	}
}
