package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"carrel/client"
	"carrel/internal/task"
)

// importRemote uploads the files to a server and waits until it has imported them.
func (c importCommand) importRemote(ctx context.Context, env *Env, files []foundFile) ([]importResult, error) {
	s, err := connectFlags{Profile: c.Profile, Server: c.Server, Key: c.Key}.open(env)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	agent, err := s.agentID(ctx, c.Agent)
	if err != nil {
		return nil, err
	}
	api := &agentClient{s.Client, agent}
	sourceID, err := c.remoteSource(ctx, api)
	if err != nil {
		return nil, err
	}
	before, err := api.filesByName(ctx, sourceID)
	if err != nil {
		return nil, err
	}
	results := make([]importResult, len(files))
	p := newImportProgress(env, files)
	defer p.finish()
	for i, f := range files {
		results[i], err = api.uploadWithRetry(ctx, sourceID, f, p)
		if err != nil {
			return nil, err
		}
	}
	p.finish()
	last, err := api.awaitImports(ctx, env, sourceID)
	if err != nil {
		return nil, err
	}
	after, err := api.filesByName(ctx, sourceID)
	if err != nil {
		return nil, err
	}
	for i := range results {
		results[i].complete(before, after, last)
	}
	return results, nil
}

func (c *agentClient) filesByName(ctx context.Context, sourceID string) (map[string]client.SourceFile, error) {
	files, err := c.files(ctx, sourceID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]client.SourceFile, len(files))
	for _, f := range files {
		out[f.Name] = f
	}
	return out, nil
}

// uploadWithRetry uploads a file. The client repeats the request if the server is busy; a file that the server rejects
// is a result.
func (c *agentClient) uploadWithRetry(
	ctx context.Context, sourceID string, f foundFile, p *importProgress,
) (r importResult, err error) {
	r = importResult{Name: f.name}
	r.Name, err = c.upload(ctx, sourceID, f.path, f.name, p.begin, p.advance)
	if err == nil {
		p.fileDone(f.name, f.size)
		return r, nil
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return importResult{Name: f.name, Result: resultRefused, Reason: reasonNotOpened}, nil
	}
	if refusal, rejected := rejectsFile(err); rejected {
		return importResult{Name: f.name, Result: resultRefused, Reason: refusal.Detail}, nil
	}
	return r, fmt.Errorf("send %s: %w", f.name, err)
}

// wait waits for d or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// pollInterval is the time between two requests for the progress of an import.
const pollInterval = 300 * time.Millisecond

// awaitImports waits until no import of the source is waiting or running, and returns the imports, newest first.
func (c *agentClient) awaitImports(ctx context.Context, env *Env, sourceID string) ([]client.ImportJob, error) {
	bar := progressBar(env, 0, "Importing")
	defer bar.finish()
	for {
		list, err := c.ListImports(ctx, c.agent, sourceID)
		if err != nil {
			return nil, err
		}
		active := false
		for _, i := range list.Imports {
			if i.State == string(task.StateQueued) || i.State == string(task.StateRunning) {
				active = true
				bar.of(uint64(i.Bytes.Done), uint64(i.Bytes.Total))
			}
		}
		if !active {
			return list.Imports, nil
		}
		if err := wait(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// complete sets the result of an uploaded file from the lists of files before and after the import. A file that the
// import has not processed is refused with the reason why the import ended.
func (r *importResult) complete(before, after map[string]client.SourceFile, imports []client.ImportJob) {
	if r.Result != "" {
		return
	}
	file, is := after[r.Name]
	if !is || file == before[r.Name] {
		r.Result, r.Reason = resultRefused, "The import ended before this file."
		for _, i := range imports {
			if i.State == string(task.StateFailed) && len(i.Errors) > 0 {
				r.Reason = i.Errors[len(i.Errors)-1].Reason
				return
			}
		}
		return
	}
	for _, i := range imports {
		for _, problem := range i.Errors {
			if r.Reason == "" && problem.File == r.Name && file.Skipped > 0 {
				r.Reason = problem.Reason
			}
		}
	}
	r.setOutcome(file.Outcome, file.Error, int(file.Documents), int(file.Skipped))
}

// importProgress shows the progress of sending or importing files: a bar on a terminal, otherwise a line for each file.
type importProgress struct {
	env *Env
	bar bar
	// mu protects the counts: a body is still read while its reply arrives.
	mu           sync.Mutex
	files, total int
	// sent counts the bytes of finished files, current those of the file in progress.
	sent, current int64
}

func newImportProgress(env *Env, files []foundFile) *importProgress {
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	return &importProgress{env: env, bar: progressBar(env, bytes, "Sending"), total: len(files)}
}

// begin starts a file, or starts it again.
func (p *importProgress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = 0
}

func (p *importProgress) advance(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current += int64(n)
	p.bar.set(p.sent + p.current)
}

func (p *importProgress) fileDone(name string, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files++
	p.sent += size
	p.current = 0
	p.bar.set(p.sent)
	if !isTerminal(p.env.Err) {
		_, _ = fmt.Fprintf(p.env.Err, "%d of %d: %s\n", p.files, p.total, printableName(name))
	}
}

func (p *importProgress) finish() { p.bar.finish() }
