package builtin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// loadAll loads both models from a file.
func loadAll(file string) error {
	w, err := openWeights(file)
	if err != nil {
		return err
	}
	tok, err := newTokenizer(w)
	if err != nil {
		return err
	}
	if _, err := newStaticModel(w, tok, &plainKernel); err != nil {
		return err
	}
	_, err = newRanker(w, tok, &plainKernel)
	return err
}

func TestDamagedWeightsAreRefused(t *testing.T) {
	if err := loadAll(weightsFile); err != nil {
		t.Fatal(err)
	}
	flip := func(at int) string {
		b := []byte(weightsFile)
		b[at] ^= 0x10
		return string(b)
	}
	w, err := openWeights(weightsFile)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(name string) int { return strings.Index(weightsFile, w.sections[name].data) }
	rename := []byte(weightsFile)
	copy(rename[weightsHeader:], "vocabulary")
	table := rename[weightsHeader:][:len(w.sections)*sectionEntry]
	binary.LittleEndian.PutUint32(rename[len(weightsMagic)+4:], checksum(table))
	for name, file := range map[string]string{
		"empty":              "",
		"magic":              flip(0),
		"number of sections": flip(9),
		"many sections":      flip(11),
		"section table":      flip(weightsHeader + 30),
		"vocabulary":         flip(offset("vocab") + 12345),
		"words":              flip(offset("words.q") + 1_234_567),
		"static vectors":     flip(offset("static.b.q")),
		"layer":              flip(offset("3.f2.q") + 77),
		"head":               flip(offset("head.w") + 3),
		"cut off":            weightsFile[:len(weightsFile)-100],
		"header only":        weightsFile[:weightsHeader],
		"missing section":    string(rename),
	} {
		if err := loadAll(file); !errors.Is(err, errDamaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDamagedVocabularyIsRefused(t *testing.T) {
	var many strings.Builder
	for i := range vocabularySize + 1 {
		fmt.Fprintln(&many, i)
	}
	for _, text := range []string{"", "a\nb\n", "a\n\n", strings.Repeat("a", maxEntry+1), many.String()} {
		if _, err := newVocabulary(text); !errors.Is(err, errDamaged) {
			t.Errorf("error %v of a vocabulary with %d bytes", err, len(text))
		}
	}
}

// The binary must not use more memory before the models are used.
func TestInitialisationAllocatesLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the test runs in an emulator")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	match := regexp.MustCompile(`init carrel/internal/builtin .* (\d+) bytes`).FindSubmatch(out)
	if match == nil {
		return // packages without initialisation are not listed
	}
	if n, _ := strconv.Atoi(string(match[1])); n > 16<<10 {
		t.Errorf("initialisation allocates %d bytes", n)
	}
}

func TestNoticeNamesEveryOrigin(t *testing.T) {
	for _, name := range []string{
		"all-MiniLM-L6-v2", "Apache", "SQuAD", "CC BY-SA 4.0", "WikiWhy", "SelQA", "COVID-QA", "PubMedQA",
	} {
		if !strings.Contains(Notice, name) {
			t.Errorf("the notice does not name %s", name)
		}
	}
}
