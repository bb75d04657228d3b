package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// ingestSettings are the flags of `bench ingest`.
type ingestSettings struct {
	runFlags
	corpusFlags
	megabytes int
	pdf       string
	pdfs      int
	alone     bool
}

func parseIngest(args []string) (*ingestSettings, error) {
	s := &ingestSettings{}
	f := s.newFlags("bench ingest", "")
	s.register(f, 110_000, "to import")
	f.IntVar(&s.megabytes, "megabytes", 50, "size of the folder of Markdown and HTML; 0 skips it")
	f.StringVar(&s.pdf, "pdf", "../internal/format/pdf/testdata/two-columns.pdf",
		"a PDF `file` of 14 pages in two columns")
	f.IntVar(&s.pdfs, "pdfs", 10, "number of PDF imports; 0 skips them")
	f.BoolVar(&s.alone, "alone", false, "measure Carrel only, without SQLite FTS5")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	if s.megabytes < 0 || s.megabytes > 1000 || s.pdfs < 0 || s.pdfs > 100 {
		return s, errors.New("--megabytes must be 0 to 1000, --pdfs 0 to 100")
	}
	return s, s.check()
}

// filling is the measurement of an import.
type filling struct {
	documents int
	bytes     int64
	wall, cpu time.Duration
	// peak is the peak resident memory of the process so far.
	peak int64
	// database, index and originals are the sizes on disk after the import.
	database, index, originals int64
}

// measureIngest fills three sources of a server in sequence, and indexes the same lines with FTS5.
func measureIngest(ctx context.Context, s *ingestSettings, dir string) (page, error) {
	rep := &ingestReport{settings: *s, when: time.Now()}
	c := &carrel{binary: s.carrel, dir: dir}
	if err := c.signUp(ctx); err != nil {
		return page{}, err
	}
	lines := filepath.Join(dir, "documents.jsonl")
	_, kept, err := writeCorpus(s.corpusFlags, 0, lines)
	if err != nil {
		return page{}, err
	}
	in, err := c.start(ctx)
	if err != nil {
		return page{}, err
	}
	defer in.stop()
	u := &uploader{server: "http://" + in.addr, carrel: c}
	fmt.Fprintf(s.progress, "importing %d documents of JSON Lines…\n", kept)
	if rep.lines, err = u.measure(ctx, in, "Lines", kept,
		func(source string) error { return u.send(ctx, source, lines, "documents.jsonl") }); err != nil {
		return page{}, fmt.Errorf("JSON Lines: %w", err)
	}
	if err := rep.lines.measureDisk(c.dataDir()); err != nil {
		return page{}, err
	}
	if s.megabytes > 0 {
		if err := rep.folder(ctx, u, in, lines); err != nil {
			return page{}, fmt.Errorf("Markdown and HTML: %w", err)
		}
	}
	if s.pdfs > 0 {
		if err := rep.papers(ctx, u); err != nil {
			return page{}, fmt.Errorf("PDF: %w", err)
		}
	}
	if s.alone {
		return rep.page(), nil
	}
	fmt.Fprintln(s.progress, "the same lines with FTS5…")
	rep.peer, err = indexWithFTS5(ctx, lines, filepath.Join(dir, "fts5.db"))
	return rep.page(), err
}

// measureDisk sets the sizes of the files in a data folder.
func (f *filling) measureDisk(data string) (err error) {
	all, err := folderBytes(data)
	if err != nil {
		return err
	}
	if f.index, err = folderBytes(filepath.Join(data, "index")); err != nil {
		return err
	}
	if f.originals, err = folderBytes(filepath.Join(data, "originals")); err != nil {
		return err
	}
	f.database = all - f.index - f.originals
	return nil
}

// folder measures the import of a folder of Markdown and HTML files.
func (r *ingestReport) folder(ctx context.Context, u *uploader, in *instance, lines string) error {
	s := r.settings
	dir := filepath.Join(u.carrel.dir, "folder")
	files, size, err := writeTexts(lines, dir, int64(s.megabytes)<<20)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.progress, "importing %d files of Markdown and HTML, %s…\n", files, megabytes(size))
	var made struct {
		Source struct {
			ID string `json:"id"`
		} `json:"source"`
	}
	r.texts, err = u.clocked(ctx, in, files, func() (string, error) {
		err := u.carrel.admin(ctx, &made, "source", "add", "--agent", u.carrel.agent,
			"--name", "Folder", "folder", "--path", dir)
		return made.Source.ID, err
	})
	r.texts.bytes = size
	return err
}

// papers measures the import of one PDF by the server's own timestamps, so that polling does not disturb it.
func (r *ingestReport) papers(ctx context.Context, u *uploader) error {
	s := r.settings
	fmt.Fprintf(s.progress, "importing a PDF, %d times…\n", s.pdfs)
	source, err := u.create(ctx, "Papers")
	if err != nil {
		return err
	}
	for n := range s.pdfs {
		if err := u.send(ctx, source, s.pdf, fmt.Sprintf("paper-%d.pdf", n)); err != nil {
			return err
		}
		if _, err := u.filled(ctx, source, n+1); err != nil {
			return err
		}
		var reply struct {
			Imports []struct {
				CreatedAt time.Time `json:"createdAt"`
				UpdatedAt time.Time `json:"updatedAt"`
			} `json:"imports"`
		}
		if err := u.get(ctx, "sources/"+source+"/imports", &reply); err != nil {
			return err
		}
		r.pdfs = append(r.pdfs, reply.Imports[0].UpdatedAt.Sub(reply.Imports[0].CreatedAt))
	}
	return nil
}

// uploader fills sources over the API.
type uploader struct {
	server string
	carrel *carrel
}

// measure creates a source and times its import.
func (u *uploader) measure(
	ctx context.Context, in *instance, name string, documents int, fill func(source string) error,
) (filling, error) {
	source, err := u.create(ctx, name)
	if err != nil {
		return filling{}, err
	}
	return u.clocked(ctx, in, documents, func() (string, error) { return source, fill(source) })
}

// clocked times an import until its last document is searchable.
func (u *uploader) clocked(
	ctx context.Context, in *instance, documents int, fill func() (source string, err error),
) (filling, error) {
	before, err := in.cpuTime()
	if err != nil {
		return filling{}, err
	}
	began := time.Now()
	source, err := fill()
	if err != nil {
		return filling{}, err
	}
	f := filling{}
	if f.documents, err = u.filled(ctx, source, documents); err != nil {
		return filling{}, err
	}
	f.wall = time.Since(began)
	after, err1 := in.cpuTime()
	peak, err2 := in.peakBytes()
	f.cpu, f.peak = after-before, peak
	return f, errors.Join(err1, err2)
}

func (u *uploader) create(ctx context.Context, name string) (string, error) {
	body, err := json.Marshal(map[string]string{"name": name, "language": "en"})
	if err != nil {
		return "", err
	}
	var made struct {
		Source struct {
			ID string `json:"id"`
		} `json:"source"`
	}
	err = u.do(ctx, http.MethodPost, "sources", "application/json", bytes.NewReader(body), &made)
	return made.Source.ID, err
}

// send uploads a file as multipart form data.
func (u *uploader) send(ctx context.Context, source, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, file)
		}
		pipe.CloseWithError(errors.Join(err, form.Close()))
	}()
	defer body.Close() // ends the writer if the server closes the connection
	return u.do(ctx, http.MethodPost, "sources/"+source+"/files", form.FormDataContentType(), body, nil)
}

// askEvery is the polling interval of a source, long enough not to affect the measurement.
const askEvery = 200 * time.Millisecond

// filled waits until a source has the documents and all of them are searchable.
func (u *uploader) filled(ctx context.Context, source string, documents int) (int, error) {
	for {
		var reply struct {
			Source struct {
				Documents int `json:"documents"`
				Indexed   int `json:"indexed"`
				Import    struct {
					State  string `json:"state"`
					Failed int    `json:"failed"`
				} `json:"import"`
			} `json:"source"`
		}
		if err := u.get(ctx, "sources/"+source, &reply); err != nil {
			return 0, err
		}
		s := reply.Source
		switch {
		case s.Import.Failed > 0 || s.Import.State == "failed" || s.Import.State == "cancelled":
			return 0, fmt.Errorf("the import is %s, and %d records or files could not be read", s.Import.State, s.Import.Failed)
		case s.Import.State == "complete" && s.Documents >= documents && s.Indexed >= s.Documents:
			return s.Documents, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(askEvery):
		}
	}
}

func (u *uploader) get(ctx context.Context, path string, out any) error {
	return u.do(ctx, http.MethodGet, path, "", nil, out)
}

func (u *uploader) do(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, u.server+u.carrel.path(path), body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+u.carrel.key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
