// Package ocr reads the text of images, with the command tesseract or with an HTTP service.
package ocr

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/format"
)

// maxText limits the text of one image.
const maxText = 1 << 20

// Reasons why an image is not read.
const (
	errMissing  = format.Reason("the command tesseract is not installed")
	errFailed   = format.Reason("tesseract can't read an image; check ocr-languages")
	errTooSlow  = format.Reason("an image takes longer than the setting ocr-time allows")
	errAddress  = format.Reason("the OCR service can't be reached")
	errReply    = format.Reason("the OCR service does not reply with text")
	errTextSize = format.Reason("the text of an image is longer than 1 MiB")
)

// Tesseract runs the command tesseract.
type Tesseract struct {
	// Command is the name of the command; empty means tesseract.
	Command   string
	Languages string
	Timeout   time.Duration
}

// killDelay is how long a stopped command may keep its pipes open.
const killDelay = time.Second

// Recognize returns the text of an image.
func (t *Tesseract) Recognize(ctx context.Context, _ string, data []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	name := t.Command
	if name == "" {
		name = "tesseract"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.Join(errMissing, err)
	}
	command := exec.CommandContext(ctx, path, "stdin", "stdout", "-l", t.Languages) //nolint:gosec // no shell
	command.Stdin = bytes.NewReader(data)
	out := &limited{}
	command.Stdout = out
	command.Env = environment()
	command.WaitDelay = killDelay
	err = command.Run()
	switch {
	case out.full:
		return "", errTextSize
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", errTooSlow
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", errors.Join(errFailed, err)
	}
	return strings.ToValidUTF8(out.text.String(), ""), nil
}

// environment returns the variables that tesseract needs, without the secrets of the server, and limits it to one core.
func environment() []string {
	env := []string{"OMP_THREAD_LIMIT=1"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "TESSDATA_PREFIX", "TMPDIR", "SYSTEMROOT"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// limited is a buffer of maxText bytes. A longer output ends the command with an error.
type limited struct {
	text strings.Builder
	full bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.full || l.text.Len()+len(p) > maxText; l.full {
		return 0, io.ErrShortWrite
	}
	return l.text.Write(p)
}

// Endpoint is an HTTP service that takes images and returns their text.
type Endpoint struct {
	URL, Key  string
	Languages string
	Timeout   time.Duration
	Client    *http.Client
}

// Recognize returns the text of an image.
func (e *Endpoint) Recognize(ctx context.Context, mediaType string, data []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	text, err := e.send(ctx, mediaType, data)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", errTooSlow
	}
	return text, err
}

func (e *Endpoint) send(ctx context.Context, mediaType string, data []byte) (string, error) {
	address, err := url.Parse(e.URL)
	if err != nil {
		return "", errors.Join(errAddress, err)
	}
	query := address.Query()
	query.Set("languages", e.Languages)
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(data))
	if err != nil {
		return "", errors.Join(errAddress, err)
	}
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Accept", "text/plain")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	res, err := e.Client.Do(req)
	if err != nil {
		return "", errors.Join(errAddress, err)
	}
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // an invalid type is another type
	if res.StatusCode != http.StatusOK || kind != "text/plain" {
		return "", errReply
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxText+1))
	switch {
	case err != nil:
		return "", errors.Join(errReply, err)
	case len(text) > maxText:
		return "", errTextSize
	case !utf8.Valid(text):
		return "", errReply
	}
	return string(text), nil
}
