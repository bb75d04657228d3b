package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"carrel/internal/accountdata"
	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// DeleteAccount answers DELETE /api/account.
func (h handlers) DeleteAccount(ctx context.Context, req *oas.AccountDeletion) (*oas.Deleted, error) {
	return deleted(h.Deletions.DeleteOwn(ctx, actor(ctx), req.Email))
}

// DeleteUser answers DELETE /api/admin/users/{userId}.
func (h handlers) DeleteUser(ctx context.Context, p oas.DeleteUserParams) (*oas.Deleted, error) {
	_, err := h.Deletions.DeleteUser(ctx, actor(ctx), p.UserId)
	return deleted(err)
}

// CreateExport answers POST /api/account/export.
func (h handlers) CreateExport(ctx context.Context) (*oas.ExportReply, error) {
	return exportReply(h.Exports.Create(ctx, actor(ctx)))
}

// GetExport answers GET /api/account/export. An account without an export is not an error.
func (h handlers) GetExport(ctx context.Context) (*oas.LatestExportReply, error) {
	found, err := exportReply(h.Exports.Get(ctx, actor(ctx)))
	if core.IsKind(err, core.KindNotFound) {
		return &oas.LatestExportReply{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &oas.LatestExportReply{Export: oas.NewOptExport(found.Export)}, nil
}

// DeleteExport answers DELETE /api/account/export.
func (h handlers) DeleteExport(ctx context.Context) (*oas.Deleted, error) {
	return deleted(h.Exports.Delete(ctx, actor(ctx)))
}

func exportReply(e accountdata.Export, err error) (*oas.ExportReply, error) {
	if err != nil {
		return nil, err
	}
	out := oas.Export{
		ID: e.ID, Status: oas.ExportStatus(e.Status), Done: e.Done, Total: e.Total, Bytes: e.Bytes,
		CreatedAt: timestamp(e.CreatedAt), FinishedAt: optionalTime(e.FinishedAt), ExpiresAt: optionalTime(e.ExpiresAt),
	}
	if e.ErrorCode != "" {
		out.Error = oas.NewOptExportError(oas.ExportError{Code: e.ErrorCode, Detail: e.ErrorDetail})
	}
	return &oas.ExportReply{Export: out}, nil
}

// downloadExport answers GET /api/account/export/file. The file is sent from disk, because it may be too large for
// memory.
func (a *API) downloadExport(w http.ResponseWriter, r *http.Request) {
	who, err := a.authorize(r, core.OpDownloadExport)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	e, file, err := a.Exports.Open(r.Context(), who)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="carrel-export.zip"`)
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Authorization, Cookie")
	h.Set("ETag", `"`+e.ID+`"`) // a complete export never changes
	if !isSingleRange(r.Header.Get("Range"), e.Bytes) {
		r.Header.Del("Range") // a server may ignore Range (RFC 9110, 14.2)
	}
	http.ServeContent(w, r, "", e.CreatedAt, file)
}

// isSingleRange reports whether a Range header requests a single part within the file. Requests for many parts are used
// to overload servers.
func isSingleRange(header string, size int64) bool {
	first, last, found := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	if !found || !strings.HasPrefix(header, "bytes=") {
		return false
	}
	number := func(s string, none int64) int64 {
		if s == "" {
			return none
		}
		n, err := strconv.ParseUint(s, 10, 62)
		if err != nil {
			return -1
		}
		return int64(n)
	}
	if first == "" {
		return number(last, 0) > 0
	}
	from, to := number(first, -1), number(last, size)
	return from >= 0 && from < size && to >= from
}
