package importer

import (
	"archive/zip"
	"context"
	"crypto/md5" //nolint:gosec // Zotero's checksum of a file, not a protection
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"carrel/internal/format"
	"carrel/internal/source"
	"carrel/internal/zotero"
)

// attachmentRead is the result of reading an attachment.
type attachmentRead struct {
	text     string
	original source.Original
	// problem is the reason why the attachment has no text, or a part of it.
	problem string
	// again is set if the next sync shall try again.
	again bool
	// fromFile is set if the text is that of the file, not the one that Zotero has extracted.
	fromFile bool
}

// attachmentName returns the name of an attachment with the extension of its format, or "" if it can't be read. A file
// of records is not a document.
func attachmentName(a format.ZoteroItem) string {
	name := path.Base(strings.ReplaceAll(a.Filename, `\`, "/"))
	if a.LinkMode == "linked_url" || a.LinkMode == "embedded_image" {
		return ""
	}
	if a.Filename == "" || !format.Reads(name) || a.ContentType == "text/html" {
		extension, ok := format.ExtensionOf(a.ContentType)
		if !ok {
			return ""
		}
		if name = strings.TrimSuffix(name, path.Ext(name)); a.Filename == "" {
			name = a.Key
		}
		name += extension
	}
	if format.IsArchive(name) || format.HoldsRecords(name) {
		return ""
	}
	return name[:len(name)-len(path.Ext(name))] + strings.ToLower(path.Ext(name))
}

// readAttachment reads the text of an attachment from its file, or else the text that Zotero has extracted from it.
// With keep, the file is stored as an original.
func (q *zoteroQueue) readAttachment(
	ctx context.Context, a format.ZoteroItem, keep bool,
) (out attachmentRead, err error) {
	name := attachmentName(a)
	if name == "" {
		return out, nil
	}
	if q.readsFiles {
		out, err = q.readFile(ctx, a, name, keep)
	} else {
		q.filesRefused++
	}
	if err != nil || out.text != "" {
		return out, err
	}
	text, err := q.library.FullText(ctx, a.Key)
	fault := zotero.StatusOf(err)
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case fault == http.StatusTooManyRequests || fault == http.StatusServiceUnavailable:
		return out, err
	case err == nil && strings.TrimSpace(text) != "":
		out.text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
		out.problem, out.again = "", false
	}
	return out, nil
}

// readFile downloads a file and parses it.
func (q *zoteroQueue) readFile(
	ctx context.Context, a format.ZoteroItem, name string, keep bool,
) (out attachmentRead, err error) {
	at := filepath.Join(q.dir, "attachment"+path.Ext(name))
	defer func() { _ = os.Remove(at) }()
	if out.problem, out.again, err = q.download(ctx, a, at); err != nil || out.problem != "" {
		if out.problem != "" {
			out.problem = name + ": " + out.problem
		}
		return out, err
	}
	if _, err := os.Stat(at); err != nil {
		return out, nil // the key may not read files, or they are not here
	}
	text, problem := q.service.parseAttachment(ctx, at)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	out.text, out.fromFile = text, text != ""
	if problem != "" {
		out.problem = name + ": " + problem
	}
	originals := q.service.options.Originals
	if !keep || originals == nil || !originals.Keeps() {
		return out, nil
	}
	hash, err := hashFile(at)
	if err != nil {
		return out, err
	}
	key, size, err := originals.KeepFile(ctx, at, hash)
	if err == nil && key != "" {
		out.original = source.Original{Hash: key, Name: name, Size: size}
	}
	return out, err
}

// parseAttachment returns the text of a file, and what could not be read of it.
func (s *Service) parseAttachment(ctx context.Context, at string) (text, problem string) {
	library, err := format.OpenWithin(ctx, at, s.options.Limits)
	if err != nil {
		var o fileResult
		if o.refuse(err) != nil {
			return "", damaged
		}
		return "", o.Error
	}
	for d, err := range library.Documents(ctx, nil) {
		var record *format.RecordError
		switch {
		case errors.As(err, &record):
			return "", record.Reason + "."
		case err != nil && limitDetail(err) != "":
			return "", limitDetail(err)
		case err != nil:
			return "", damaged
		}
		return d.Text, d.Note
	}
	return "", ""
}

// download writes the file of an attachment to a path. The problem concerns this file alone; without a problem and
// without a file, there is none to be read here.
func (q *zoteroQueue) download(
	ctx context.Context, a format.ZoteroItem, at string,
) (problem string, again bool, err error) {
	if a.LinkMode == "linked_file" && q.library.Name() != zotero.LocalLibrary {
		return "", false, nil // the file is on another computer
	}
	f, err := q.library.File(ctx, a.Key)
	switch status := zotero.StatusOf(err); {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return "", false, err
	case status == http.StatusForbidden:
		q.filesRefused++
		return "", false, nil
	case status == http.StatusNotFound:
		return "The file is not in Zotero's storage. Sync the files in Zotero.", false, nil
	case status != 0:
		return fmt.Sprintf("The server answers with status %d.", status), status >= http.StatusInternalServerError, nil
	case err != nil:
		return "The file can't be fetched: " + fetchErrorText(err) + ".", true, nil
	case f.Body == nil && !q.local:
		return "The server names a file of another computer.", false, nil
	case f.Body == nil:
		return q.service.copyLocal(f.Path, at), false, nil
	}
	defer func() { _ = f.Body.Close() }() // opened for reading only
	sum, problem, again, err := q.service.saveBody(f.Body, at)
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case err != nil || problem != "":
		return problem, again, err
	case f.Compressed || isZip(at) && path.Ext(at) == ".html":
		return q.service.unpack(at, path.Base(a.Filename)), false, nil
	case a.MD5 != "" && a.MD5 != sum:
		return "The file is damaged: its checksum differs from Zotero's.", true, nil
	}
	return "", false, nil
}

// saveBody writes a reply to a file and returns its MD5 checksum.
func (s *Service) saveBody(body io.Reader, at string) (sum, problem string, again bool, err error) {
	out, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", "", false, err
	}
	hash := md5.New() //nolint:gosec // see the import
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(body, s.options.MaxUpload+1))
	closed := out.Close()
	switch {
	case closed != nil:
		return "", "", false, closed
	case err != nil:
		return "", "The download ended early.", true, nil //nolint:nilerr // the next sync tries again
	}
	return hex.EncodeToString(hash.Sum(nil)), s.objectTooLarge(n), false, nil
}

func isZip(at string) bool {
	f, err := os.Open(at)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // opened for reading only
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "PK\x03\x04"
}

// unpack replaces a compressed file with the entry of its name. The archive of a web page also has its images.
func (s *Service) unpack(at, name string) (problem string) {
	const unreadable = "The compressed file can't be read."
	z, err := zip.OpenReader(at)
	if err != nil {
		return unreadable
	}
	defer func() { _ = z.Close() }() // opened for reading only
	var entry *zip.File
	for _, f := range z.File {
		if f.Name == name || entry == nil && strings.EqualFold(path.Ext(f.Name), path.Ext(at)) {
			entry = f
		}
	}
	if entry == nil {
		return unreadable
	}
	in, err := entry.Open()
	if err != nil {
		return unreadable
	}
	defer func() { _ = in.Close() }() // opened for reading only
	unpacked := at + ".unpacked"
	defer func() { _ = os.Remove(unpacked) }()
	_, problem, _, err = s.saveBody(in, unpacked)
	if err == nil && problem == "" {
		err = os.Rename(unpacked, at)
	}
	if err != nil {
		return unreadable
	}
	return problem
}

// copyLocal copies a file that the local API has named. Only files of the folder that the operator has set are read:
// an address that a user enters must not give access to other files of the server.
func (s *Service) copyLocal(name, at string) (problem string) {
	if s.options.ZoteroStorage == "" {
		return ""
	}
	root, err := os.OpenRoot(s.options.ZoteroStorage)
	if err != nil {
		return "The folder of the setting zotero-storage can't be opened."
	}
	defer func() { _ = root.Close() }() // opened for reading only
	inside, err := filepath.Rel(s.options.ZoteroStorage, filepath.FromSlash(name))
	if err != nil || !filepath.IsLocal(inside) {
		return "The file is outside the folder of the setting zotero-storage."
	}
	info, err := root.Stat(inside)
	if err != nil || !info.Mode().IsRegular() {
		return "The file does not exist on this computer."
	}
	f, err := root.Open(inside)
	if err != nil {
		return "The file can't be opened."
	}
	defer func() { _ = f.Close() }() // opened for reading only
	_, problem, _, err = s.saveBody(f, at)
	if err != nil {
		return "The file can't be copied."
	}
	return problem
}
