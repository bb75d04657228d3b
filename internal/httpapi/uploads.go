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
	"carrel/internal/httpapi/oas"
	"carrel/internal/importer"
	"carrel/internal/task"
)

// uploadPause is how long a client may pause within the body of an upload.
const uploadPause = time.Minute

// uploadTarget returns the source of the path after the service's access check, for an actor that authorize returned.
func (a *API) uploadTarget(r *http.Request, who core.Actor, op core.Operation) (importer.UploadTarget, error) {
	return a.Importer.UploadTarget(r.Context(), who, op, r.PathValue("agentId"), r.PathValue("sourceId"))
}

// slowBody extends the read deadline before every read, so that an upload may take any time while data arrives. Other
// requests have half a minute for the whole body.
type slowBody struct {
	body io.Reader
	c    *http.ResponseController
}

func (p slowBody) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(time.Now().Add(uploadPause)) // writers in tests have no deadlines
	return p.body.Read(b)
}

// uploadFiles answers POST …/files. It stores the files of a multipart body while they arrive.
func (a *API) uploadFiles(w http.ResponseWriter, r *http.Request) {
	who, err := a.authorize(r, core.OpUploadFiles)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	uploads, started, err := a.takeFiles(w, r, who)
	if err != nil {
		a.problems.Write(w, r, closeConnection(w, err))
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
	running := importOf(started)
	imported, err := running.MarshalJSON()
	if err != nil {
		a.problems.Write(w, r, core.Internal(err))
		return
	}
	// Encoding can't fail for strings and numbers.
	_ = json.NewEncoder(&rep.body).Encode(map[string]any{"uploads": out, "import": json.RawMessage(imported)})
	a.send(w, r, rep, nil)
}

// takeFiles stores the files of a multipart body and starts their import.
func (a *API) takeFiles(
	w http.ResponseWriter, r *http.Request, who core.Actor,
) (uploads []importer.Upload, started importer.Import, err error) {
	to, err := a.uploadTarget(r, who, core.OpUploadFiles)
	if err != nil {
		return nil, started, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, started, &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type",
			Detail: "Send files as multipart/form-data, or in parts to …/uploads.",
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{slowBody{r.Body, http.NewResponseController(w)}, r.Body}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, started, core.InvalidField("Content-Type", "Must contain the boundary of the parts.")
	}
	uploads, err = a.takeParts(r.Context(), to, parts)
	if len(uploads) > 0 { // import the files that arrived, even if a later one failed
		var failed error
		started, failed = a.Importer.ImportUploads(r.Context(), to)
		err = errors.Join(err, failed)
	}
	if err == nil && len(uploads) == 0 {
		err = core.InvalidField("file", "No part of the body is a file. Each file needs a file name.")
	}
	return uploads, started, err
}

// takeParts stores the parts that are files.
func (a *API) takeParts(
	ctx context.Context, to importer.UploadTarget, parts *multipart.Reader,
) (uploads []importer.Upload, err error) {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return uploads, nil
		}
		if err != nil {
			return uploads, malformed("The body is incomplete.")
		}
		name := fileName(part)
		if name == "" {
			continue // a form field, not a file
		}
		u, err := a.Importer.UploadFile(ctx, to, name, part)
		if err != nil {
			return uploads, err
		}
		uploads = append(uploads, u)
	}
}

// fileName returns the name of a file including its folders. Part.FileName drops the folders, so that files of the same
// name would overwrite each other. The service refuses names that lead out of the source.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// tusVersion is the version of the tus protocol for resumable uploads (https://tus.io/protocols/resumable-upload).
const tusVersion = "1.0.0"

// describeUploads answers OPTIONS …/uploads with the supported parts of the protocol.
func (a *API) describeUploads(w http.ResponseWriter, r *http.Request) {
	if _, err := a.authorize(r, core.OpCreateUpload); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Tus-Resumable", tusVersion)
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", "creation,creation-with-upload,termination")
	h.Set("Tus-Max-Size", strconv.FormatInt(a.Importer.MaxUpload(), 10))
	w.WriteHeader(http.StatusNoContent)
}

// tus carries out a request of the tus protocol.
func (a *API) tus(
	w http.ResponseWriter, r *http.Request, op core.Operation,
	do func(context.Context, importer.UploadTarget) (status int, err error),
) {
	w.Header().Set("Tus-Resumable", tusVersion)
	w.Header().Set("Cache-Control", "no-store")
	status, err := a.runTus(r, op, do)
	if err != nil {
		a.problems.Write(w, r, closeConnection(w, err))
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
		name := tusFilename(r.Header.Get("Upload-Metadata"))
		if err := a.Importer.ValidateUpload(name, size); err != nil {
			return 0, err
		}
		if ctx, err = a.withUploadSeed(ctx, w, r, to.UserID()); err != nil {
			return 0, err
		}
		u, err := a.Importer.CreateUpload(ctx, to, name, size)
		if err != nil {
			return 0, err
		}
		w.Header().Set("Location", a.baseURL+strings.TrimSuffix(r.URL.Path, "/")+"/"+u.ID)
		// The bytes that an earlier request with the same key has stored are not stored again.
		if mediaType(r.Header.Get("Content-Type")) == offsetStream && !u.Ready && u.Received == 0 {
			u, err = a.Importer.AppendUpload(ctx, to, u.ID, 0, slowBody{r.Body, http.NewResponseController(w)})
		}
		w.Header().Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
		return http.StatusCreated, err
	})
}

// offsetStream is the media type of the bytes of an upload.
const offsetStream = "application/offset+octet-stream"

// withUploadSeed claims the Idempotency-Key of a request, if it has one. In the returned context a repeated request
// finds the upload of the first one, so no reply is stored.
func (a *API) withUploadSeed(
	ctx context.Context, w http.ResponseWriter, r *http.Request, userID string,
) (context.Context, error) {
	key, sent := idempotencyKey(r)
	if !sent {
		return ctx, nil
	}
	announced := r.Header.Get("Upload-Length") + "\n" + r.Header.Get("Upload-Metadata")
	seed := core.NewSeed()
	rec, _, err := a.claimValid(ctx, userID, key, seed, requestHash(r, []byte(announced)))
	if err == nil && rec.Seed != seed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	return core.WithSeed(ctx, rec.Seed), err
}

// ListUploads answers GET …/sources/{sourceId}/uploads.
func (h handlers) ListUploads(ctx context.Context, p oas.ListUploadsParams) (*oas.UploadResults, error) {
	ids := strings.FieldsFunc(p.Ids, func(r rune) bool { return r == ',' })
	uploads, err := h.Importer.Uploads(ctx, actor(ctx), p.AgentId, p.SourceId, ids)
	if err != nil {
		return nil, err
	}
	out := &oas.UploadResults{Uploads: make([]oas.Upload, len(uploads))}
	for i, u := range uploads {
		out.Uploads[i] = oas.Upload{ID: u.ID, Name: u.Name, Size: max(u.Size, u.Received)}
		if u.Outcome != "" {
			one := &out.Uploads[i]
			one.Outcome, one.Reason = oas.NewOptImportOutcome(oas.ImportOutcome(u.Outcome)), optional(u.Reason)
			one.Documents, one.Skipped = oas.NewOptInt64(int64(u.Documents)), oas.NewOptInt64(int64(u.Skipped))
		}
	}
	return out, nil
}

// tusFilename returns the file name of an Upload-Metadata header, a list of keys with base64 values.
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

// findUpload answers HEAD …/uploads/{uploadId} with the number of received bytes.
func (a *API) findUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpAppendUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
		u, err := a.Importer.FindUpload(ctx, to, r.PathValue("uploadId"))
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
		if mediaType(r.Header.Get("Content-Type")) != offsetStream {
			return 0, &core.Error{
				Kind: core.KindUnsupported, Code: "unsupported_media_type",
				Detail: "Send Content-Type: " + offsetStream + ".",
			}
		}
		offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
		if err != nil || offset < 0 {
			return 0, core.InvalidField("Upload-Offset", "Is required: the number of bytes sent before.")
		}
		body := slowBody{r.Body, http.NewResponseController(w)}
		u, err := a.Importer.AppendUpload(ctx, to, r.PathValue("uploadId"), offset, body)
		if err == nil || core.IsKind(err, core.KindConflict) { // a client at the wrong offset learns the right one
			w.Header().Set("Upload-Offset", strconv.FormatInt(u.Received, 10))
		}
		return http.StatusNoContent, err
	})
}

// cancelUpload answers DELETE …/uploads/{uploadId}.
func (a *API) cancelUpload(w http.ResponseWriter, r *http.Request) {
	a.tus(w, r, core.OpCancelUpload, func(ctx context.Context, to importer.UploadTarget) (int, error) {
		return http.StatusNoContent, a.Importer.CancelUpload(ctx, to, r.PathValue("uploadId"))
	})
}

// streamImports answers GET …/sources/{sourceId}/events.
func (a *API) streamImports(w http.ResponseWriter, r *http.Request) {
	agentID, sourceID := r.PathValue("agentId"), r.PathValue("sourceId")
	a.stream(w, r, core.OpStreamImports, eventSource{
		events: func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error) {
			return a.Importer.Events(ctx, who, agentID, sourceID, after)
		},
		check: func(ctx context.Context, who core.Actor) error {
			_, err := a.Sources.Get(ctx, who, agentID, sourceID)
			return err
		},
	})
}
