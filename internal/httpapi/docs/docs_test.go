package docs

import (
	"bytes"
	"testing"
)

func TestPageNamesOnlyTheBaseURLOfTheServer(t *testing.T) {
	t.Parallel()
	page, err := Page(`https://example.org/"><script>`)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte(BaseURLPlaceholder)) || bytes.Contains(page, []byte("base-url.invalid")) {
		t.Error("the placeholder is on the page")
	}
	if n := bytes.Count(page, []byte("https://example.org/&#34;&gt;&lt;script&gt;")); n < 100 {
		t.Errorf("the base URL is on the page %d times, but every example has it", n)
	}
	if bytes.Contains(page, []byte("example.org/\"><script>")) {
		t.Error("the base URL is on the page as markup")
	}
}
