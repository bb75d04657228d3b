package ocr_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/ocr"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// letters are 5 columns and 7 rows each.
var letters = map[rune][7]string{
	'T': {"#####", "  #  ", "  #  ", "  #  ", "  #  ", "  #  ", "  #  "},
	'H': {"#   #", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"},
	'E': {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#####"},
	'F': {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#    "},
	'I': {"#####", "  #  ", "  #  ", "  #  ", "  #  ", "  #  ", "#####"},
	'L': {"#    ", "#    ", "#    ", "#    ", "#    ", "#    ", "#####"},
}

// scan draws words of these letters on a white page and returns it as PNG.
func scan(t *testing.T, text string) []byte {
	t.Helper()
	const dot, margin = 6, 60
	page := image.NewGray(image.Rect(0, 0, 2*margin+len(text)*6*dot, 2*margin+7*dot))
	for i := range page.Pix {
		page.Pix[i] = 255
	}
	for n, r := range text {
		for y, row := range letters[r] {
			for x, c := range row {
				for i := 0; c == '#' && i < dot*dot; i++ {
					page.SetGray(margin+(n*6+x)*dot+i%dot, margin+y*dot+i/dot, color.Gray{})
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, page); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTesseractReadsAnImage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("the command tesseract is not installed; run make setup")
	}
	engine := &ocr.Tesseract{Languages: "eng", Timeout: 10 * time.Minute}
	text, err := engine.Recognize(t.Context(), "image/png", scan(t, "THE FILE"))
	if err != nil || strings.TrimSpace(text) != "THE FILE" {
		t.Errorf("the text is %q (%v)", text, err)
	}
	if _, err := engine.Recognize(t.Context(), "image/png", []byte("no image")); err == nil ||
		!strings.Contains(err.Error(), "tesseract can't read an image") {
		t.Errorf("bytes that are no image: %v", err)
	}
}

// command writes a shell script in place of tesseract.
func command(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tesseract")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTesseractIsLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		timeout time.Duration
		want    string
	}{
		"missing":   {"/no/such/command", time.Hour, "the command tesseract is not installed"},
		"failing":   {command(t, "exit 1\n"), time.Hour, "tesseract can't read an image"},
		"hanging":   {command(t, "exec sleep 1000\n"), time.Millisecond, "an image takes longer"},
		"talkative": {command(t, "exec cat /dev/zero\n"), time.Hour, "longer than 1 MiB"},
	} {
		engine := &ocr.Tesseract{Command: c.command, Languages: "eng", Timeout: c.timeout}
		if _, err := engine.Recognize(t.Context(), "image/png", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	arguments := &ocr.Tesseract{Command: command(t, `echo "$@"; cat`), Languages: "eng+deu", Timeout: time.Hour}
	text, err := arguments.Recognize(t.Context(), "image/png", []byte("bytes\xff"))
	if err != nil || text != "stdin stdout -l eng+deu\nbytes" {
		t.Errorf("the command receives %q (%v)", text, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := arguments.Recognize(ctx, "image/png", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled recognition: %v", err)
	}
}

// service is a strict fake of an OCR service: it refuses any other request than the documented one.
func service(t *testing.T, reply func(w http.ResponseWriter, image []byte)) *ocr.Endpoint {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/read" || r.URL.Query().Get("languages") != "eng" ||
			r.URL.Query().Get("mode") != "fast" || r.Header.Get("Authorization") != "Bearer key" ||
			r.Header.Get("Accept") != "text/plain" || r.Header.Get("Content-Type") != "image/png" {
			http.Error(w, "unexpected request", http.StatusBadRequest)
			return
		}
		reply(w, data)
	}))
	t.Cleanup(srv.Close)
	return &ocr.Endpoint{
		URL: srv.URL + "/read?mode=fast", Key: "key", Languages: "eng", Timeout: time.Hour, Client: srv.Client(),
	}
}

func TestEndpointReturnsTheTextOfAnImage(t *testing.T) {
	t.Parallel()
	engine := service(t, func(w http.ResponseWriter, image []byte) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("text of " + string(image)))
	})
	text, err := engine.Recognize(t.Context(), "image/png", []byte("pixels"))
	if err != nil || text != "text of pixels" {
		t.Errorf("the text is %q (%v)", text, err)
	}
	engine.Key = "other"
	if _, err := engine.Recognize(t.Context(), "image/png", nil); err == nil {
		t.Error("a refused request has a text")
	}
}

func TestEndpointRefusesOtherReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, text, want string }{
		"HTML":      {"text/html", "<p>", "does not reply with text"},
		"not UTF-8": {"text/plain", "\xff", "does not reply with text"},
		"too long":  {"text/plain", strings.Repeat("x", 1<<20+1), "longer than 1 MiB"},
	} {
		engine := service(t, func(w http.ResponseWriter, _ []byte) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write([]byte(c.text))
		})
		if _, err := engine.Recognize(t.Context(), "image/png", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	waiting := make(chan struct{})
	engine := service(t, func(http.ResponseWriter, []byte) { <-waiting })
	t.Cleanup(func() { close(waiting) }) // before the server is closed
	engine.Timeout = time.Millisecond
	if _, err := engine.Recognize(t.Context(), "image/png", nil); err == nil ||
		!strings.Contains(err.Error(), "an image takes longer") {
		t.Errorf("a silent service: %v", err)
	}
	engine.URL = "http://127.0.0.1:1/read"
	engine.Timeout = time.Hour
	if _, err := engine.Recognize(t.Context(), "image/png", nil); err == nil ||
		!strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("a missing service: %v", err)
	}
}

func TestTesseractDoesNotGetTheSecretsOfTheServer(t *testing.T) {
	t.Setenv("CARREL_MODEL_KEY", "sk-secret")
	engine := &ocr.Tesseract{Command: command(t, "cat > /dev/null; env"), Languages: "eng", Timeout: time.Minute}
	text, err := engine.Recognize(t.Context(), "image/png", []byte("x"))
	if err != nil || !strings.Contains(text, "OMP_THREAD_LIMIT=1") || strings.Contains(text, "sk-secret") {
		t.Errorf("the environment is %q (%v)", text, err)
	}
}
