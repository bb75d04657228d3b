package format_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel/api"
	"carrel/internal/format"
)

// The descriptions of uploads are read by people and by models, so they must name exactly the files that are accepted.
func TestContractListsTheSupportedExtensions(t *testing.T) {
	t.Parallel()
	_, rest, ok := strings.Cut(string(api.Document), "Supported file names:")
	list, _, ended := strings.Cut(rest, "requestBody:")
	if !ok || !ended {
		t.Fatal("the contract has no list of supported file names in uploadFiles")
	}
	var named []string
	for _, m := range regexp.MustCompile("`(\\.\\w+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, m[1])
	}
	if want := format.Extensions(); !slices.Equal(named, want) {
		t.Errorf("the contract lists %q, Extensions returns %q", named, want)
	}
}

func TestEverySupportedExtensionIsRead(t *testing.T) {
	t.Parallel()
	for _, extension := range format.Extensions() {
		if !format.Reads("file"+extension) || !format.Reads("FILE"+strings.ToUpper(extension)) {
			t.Errorf("a file with the extension %s is not read", extension)
		}
	}
	for _, name := range []string{"file", "file.exe", "file.zip.gz", "file.pdf.gz", ".pdf/file"} {
		if format.Reads(name) {
			t.Errorf("%s is read", name)
		}
	}
	if !format.Reads("records.jsonl.gz") {
		t.Error("compressed records are not read")
	}
}

func TestMediaTypesMapToSupportedExtensions(t *testing.T) {
	t.Parallel()
	for mediaType, want := range map[string]string{
		"text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/plain": ".txt",
		"text/markdown": ".md", "application/epub+zip": ".epub",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
	} {
		if got, ok := format.ExtensionOf(mediaType); !ok || got != want {
			t.Errorf("%s: got %q, want %s", mediaType, got, want)
		}
	}
	if got, ok := format.ExtensionOf("image/png"); ok {
		t.Errorf("image/png: got %s", got)
	}
}
