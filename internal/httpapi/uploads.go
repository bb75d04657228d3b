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

// sourceRoutes adds the paths of sources that are no JSON: files, pieces of files, and events.
func (a *API) sourceRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/agents/{agentId}/sources/{sourceId}/files", a.uploadFiles)
	mux.HandleFunc("POST /api/agents/{agentId}/sources/{sourceId}/uploads", a.createUpload)
	mux.HandleFunc("OPTIONS /api/agents/{agentId}/sources/{sourceId}/uploads", a.describeUploads)
	mux.HandleFunc("/api/agents/{agentId}/sources/{sourceId}/uploads", a.noSuchMethod("OPTIONS, POST"))
	mux.HandleFunc("HEAD /api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}", a.findUpload)
	mux.HandleFunc("PATCH /api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}", a.appendUpload)
	mux.HandleFunc("DELETE /api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}", a.cancelUpload)
	mux.HandleFunc("/api/agents/{agentId}/sources/{sourceId}/uploads/{uploadId}", a.noSuchMethod("DELETE, HEAD, PATCH"))
	mux.HandleFunc("GET /api/agents/{agentId}/sources/{sourceId}/events", a.streamImports)
	mux.HandleFunc("/api/agents/{agentId}/sources/{sourceId}/events", a.noSuchMethod("GET"))
}

// uploadTarget returns the source of the path after the service's access check, for an actor that authorize returned.
func (a *API) uploadTarget(r *http.Request, who core.Actor, op core.Operation) (importer.UploadTarget, error) {
	return a.Intake.UploadTarget(r.Context(), who, op, r.PathValue("agentId"), r.PathValue("sourceId"))
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
	who, err := a.authorize(r, core.OpUploadFiles)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	uploads, err := a.takeFiles(w, r, who)
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
func (a *API) takeFiles(w http.ResponseWriter, r *http.Request, who core.Actor) ([]importer.Upload, error) {
	to, err := a.uploadTarget(r, who, core.OpUploadFiles)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type", Detail: "Send files as multipart/form-data, or piece by piece to …/uploads.",
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{patient{r.Body, http.NewResponseController(w)}, r.Body}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, core.InvalidField("Content-Type", "Must name the boundary of the parts.")
	}
	uploads, err := a.takeParts(r.Context(), to, parts)
	if len(uploads) > 0 { // those that arrived are read, whatever became of the others
		err = errors.Join(err, a.Intake.ImportUploads(r.Context(), to))
	}
	if err == nil && len(uploads) == 0 {
		err = core.InvalidField("file", "No part of the body is a file: each needs a file name.")
	}
	return uploads, err
}

// takeParts stores the parts that are files.
func (a *API) takeParts(ctx context.Context, to importer.UploadTarget, parts *multipart.Reader) (uploads []importer.Upload, err error) {
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
		u, err := a.Intake.UploadFile(ctx, to, name, part)
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
	if _, err := a.authorize(r, core.OpCreateUpload); err != nil {
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
func (a *API) tus(
	w http.ResponseWriter, r *http.Request, op core.Operation, do func(context.Context, importer.UploadTarget) (status int, err error),
) {
	w.Header().Set("Tus-Resumable", tusVersion)
	w.Header().Set("Cache-Control", "no-store")
	status, err := a.runTus(r, op, do)
	if err != nil {
		a.problems.Write(w, r, hangUp(w, err))
		return
	}
	w.WriteHeader(status)
}

func (a *API) runTus(
	r *http.Request, op core.Operation, do func(context.Context, importer.UploadTarget) (int, error),
) (status int, err error) {
	who, err := a.authorize(r, op)
	if err != nil {
		return 0, err
	}
	if v := r.Header.Get("Tus-Resumable"); v != "" && v != tusVersion {
		return 0, core.InvalidField("Tus-Resumable", "Must be 1.0.0.")
	}
	to, err := a.uploadTarget(r, who, op)
	if err != nil {
		return 0, err
	}
	return do(r.Context(), to)
}

// createUpload answers POST …/uploads.
func (a *API) createUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpCreateUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
		size, err := strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
		if err != nil || size < 0 {
			return 0, core.InvalidField("Upload-Length", "Is required: the size of the file in bytes.")
		}
		u, err := a.Intake.CreateUpload(ctx, to, tusFilename(r.Header.Get("Upload-Metadata")), size)
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
	a.tus(w, r, core.OpAppendUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
		u, err := a.Intake.FindUpload(ctx, to, r.PathValue("uploadId"))
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
	a.tus(w, r, core.OpAppendUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
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
		u, err := a.Intake.AppendUpload(ctx, to, r.PathValue("uploadId"), offset, body)
		if err == nil || core.IsKind(err, core.KindConflict) { // who is elsewhere learns where to go on, without asking
			w.Header().Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
		}
		return http.StatusNoContent, err
	})
}

// cancelUpload answers DELETE …/uploads/{uploadId}.
func (a *API) cancelUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpCancelUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
		return http.StatusNoContent, a.Intake.CancelUpload(ctx, to, r.PathValue("uploadId"))
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
