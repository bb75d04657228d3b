package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/importer"
	"carrel/internal/task"
)

// uploadPause is how long a sender may say nothing in the middle of a body.
const uploadPause = time.Minute

// sending is a request that brings the bytes of files.
type sending struct {
	*http.Request
	who             core.Actor
	agent, sourceID string
}

// sender returns who sends something to which source, if they may.
func (a *API) sender(r *http.Request, op core.Operation) (sending, error) {
	who, err := a.authorize(r, op)
	return sending{r, who, r.PathValue("agentId"), r.PathValue("sourceId")}, err
}

// patient gives a body time to arrive: as long as something comes. Other requests have half a minute for all.
type patient struct {
	body io.Reader
	c    *http.ResponseController
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(time.Now().Add(uploadPause)) // not all connections can; those of tests
	return p.body.Read(b)
}

// uploadFiles answers POST …/files. It is a plain handler because its body is no JSON, and read as it comes.
func (a *API) uploadFiles(w http.ResponseWriter, r *http.Request) {
	s, err := a.sender(r, core.OpUploadFiles)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	uploads, err := a.takeFiles(r.Context(), w, s)
	if err != nil {
		a.problems.Write(w, r, hangUp(w, err))
		return
	}
	type upload struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Size int64  `json:"size"`
	}
	out := make([]upload, len(uploads))
	for i, u := range uploads {
		out[i] = upload{u.ID, u.Name, u.Size}
	}
	rep := newReply(w.Header())
	defer rep.free()
	rep.header.Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(&rep.body).Encode(map[string]any{"uploads": out}) // strings and numbers
	a.send(w, r, rep)
}

// takeFiles stores the files of a multipart body as they come.
func (a *API) takeFiles(ctx context.Context, w http.ResponseWriter, s sending) ([]importer.Upload, error) {
	if _, err := a.Sources.For(ctx, s.who, core.OpUploadFiles, s.agent, s.sourceID); err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(s.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type", Detail: "Send files as multipart/form-data, or piece by piece to …/uploads.",
		}
	}
	s.Body = struct {
		io.Reader
		io.Closer
	}{patient{s.Body, http.NewResponseController(w)}, s.Body}
	parts, err := s.MultipartReader()
	if err != nil {
		return nil, core.InvalidField("Content-Type", "Must name the boundary of the parts.")
	}
	uploads, err := a.takeParts(ctx, s, parts)
	if len(uploads) > 0 { // those that arrived are read, whatever became of the others
		err = errors.Join(err, a.Intake.Read(ctx, s.who, s.agent, s.sourceID))
	}
	if err == nil && len(uploads) == 0 {
		err = core.InvalidField("file", "No part of the body is a file: each needs a file name.")
	}
	return uploads, err
}

// takeParts stores the parts that are files.
func (a *API) takeParts(ctx context.Context, s sending, parts *multipart.Reader) (uploads []importer.Upload, err error) {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return uploads, nil
		}
		if err != nil {
			return uploads, malformed("The body did not arrive whole.")
		}
		name := pathOf(part)
		if name == "" {
			continue // a field of a form
		}
		u, err := a.Intake.Put(ctx, s.who, s.agent, s.sourceID, name, part)
		if err != nil {
			return uploads, err
		}
		uploads = append(uploads, u)
	}
}

// pathOf returns the name of a file with the folders that it is in; Part.FileName leaves these out, and two files of one
// name would be one. The service sees to it that no name leads out of its source.
func pathOf(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// tusVersion is the protocol of uploads in pieces (https://tus.io/protocols/resumable-upload).
const tusVersion = "1.0.0"

// describeUploads answers OPTIONS …/uploads: what of the protocol there is.
func (a *API) describeUploads(w http.ResponseWriter, r *http.Request) {
	if _, err := a.sender(r, core.OpCreateUpload); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Tus-Resumable", tusVersion)
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", "creation,termination")
	h.Set("Tus-Max-Size", strconv.FormatInt(a.Intake.MaxUpload(), 10))
	w.WriteHeader(http.StatusNoContent)
}

// tus answers a request of the protocol for uploads.
func (a *API) tus(w http.ResponseWriter, r *http.Request, op core.Operation, do func(context.Context, sending) (status int, err error)) {
	w.Header().Set("Tus-Resumable", tusVersion)
	w.Header().Set("Cache-Control", "no-store")
	s, err := a.sender(r, op)
	status := 0
	if err == nil {
		if v := r.Header.Get("Tus-Resumable"); v != "" && v != tusVersion {
			err = core.InvalidField("Tus-Resumable", "Must be 1.0.0.")
		} else {
			status, err = do(r.Context(), s)
		}
	}
	if err != nil {
		a.problems.Write(w, r, hangUp(w, err))
		return
	}
	w.WriteHeader(status)
}

// createUpload answers POST …/uploads.
func (a *API) createUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpCreateUpload, func(ctx context.Context, s sending) (int, error) {
		size, err := strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
		if err != nil || size < 0 {
			return 0, core.InvalidField("Upload-Length", "Is required: the size of the file in bytes.")
		}
		u, err := a.Intake.Begin(ctx, s.who, s.agent, s.sourceID, tusFilename(r.Header.Get("Upload-Metadata")), size)
		if err != nil {
			return 0, err
		}
		w.Header().Set("Location", a.baseURL+strings.TrimSuffix(r.URL.Path, "/")+"/"+u.ID)
		return http.StatusCreated, nil
	})
}

// tusFilename reads the file's name from metadata: pairs of a key and a value in base64.
func tusFilename(metadata string) string {
	for pair := range strings.SplitSeq(metadata, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), " ")
		if key == "filename" || key == "name" {
			if name, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
				return string(name)
			}
		}
	}
	return ""
}

// findUpload answers HEAD …/uploads/{uploadId}: how far it is.
func (a *API) findUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpAppendUpload, func(ctx context.Context, s sending) (int, error) {
		u, err := a.Intake.Find(ctx, s.who, s.agent, s.sourceID, r.PathValue("uploadId"))
		if err != nil {
			return 0, err
		}
		w.Header().Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
		w.Header().Set("Upload-Length", strconv.FormatInt(u.Size, 10))
		return http.StatusOK, nil
	})
}

// appendUpload answers PATCH …/uploads/{uploadId}.
func (a *API) appendUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpAppendUpload, func(ctx context.Context, s sending) (int, error) {
		if mediaType(r.Header.Get("Content-Type")) != "application/offset+octet-stream" {
			return 0, &core.Error{
				Kind: core.KindUnsupported, Code: "unsupported_media_type", Detail: "Send Content-Type: application/offset+octet-stream.",
			}
		}
		offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
		if err != nil || offset < 0 {
			return 0, core.InvalidField("Upload-Offset", "Is required: how much was sent before.")
		}
		body := patient{r.Body, http.NewResponseController(w)}
		u, err := a.Intake.Append(ctx, s.who, s.agent, s.sourceID, r.PathValue("uploadId"), offset, body)
		if err == nil || core.IsKind(err, core.KindConflict) { // who is elsewhere learns where to go on, without asking
			w.Header().Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
		}
		return http.StatusNoContent, err
	})
}

// cancelUpload answers DELETE …/uploads/{uploadId}.
func (a *API) cancelUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpCancelUpload, func(ctx context.Context, s sending) (int, error) {
		return http.StatusNoContent, a.Intake.Cancel(ctx, s.who, s.agent, s.sourceID, r.PathValue("uploadId"))
	})
}

// streamImports answers GET …/sources/{sourceId}/events.
func (a *API) streamImports(w http.ResponseWriter, r *http.Request) {
	agentID, sourceID := r.PathValue("agentId"), r.PathValue("sourceId")
	a.stream(w, r, core.OpStreamImports, followed{
		events: func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error) {
			return a.Intake.Events(ctx, who, agentID, sourceID, after)
		},
		there: func(ctx context.Context, who core.Actor) error {
			_, err := a.Sources.Get(ctx, who, agentID, sourceID)
			return err
		},
	})
}
