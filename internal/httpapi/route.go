package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"carrel/internal/core"
)

// plainPaths are the paths of the operations that have a handwritten handler, by number of segments. They are matched
// before the generated router is asked, and cheaper than by a mux: nearly all requests are for other paths.
type plainPaths map[int][]*plainPath

// plainPath is a path with its handlers by method.
type plainPath struct {
	pattern  string
	segments []string
	handlers map[string]http.HandlerFunc
}

// handle adds the handler of a plain operation, at the path that it has in the contract.
func (p plainPaths) handle(op core.Operation, h http.HandlerFunc) {
	traits, known := op.Traits()
	if !known || !traits.Plain {
		panic("httpapi: " + string(op) + " is not a plain operation")
	}
	h = reportUnknown(op, h)
	p.handleMethod(traits.Method, traits.Path, func(w http.ResponseWriter, r *http.Request) {
		deprecate(w.Header(), op, traits.Deprecated)
		h(w, r)
	})
}

// handleMethod adds a method to a path that the contract does not list, such as OPTIONS.
func (p plainPaths) handleMethod(method, pattern string, h http.HandlerFunc) {
	segments := strings.Split(pattern, "/")
	for _, path := range p[len(segments)] {
		if path.pattern == pattern {
			path.handlers[method] = h
			return
		}
	}
	path := &plainPath{pattern: pattern, segments: segments, handlers: map[string]http.HandlerFunc{method: h}}
	p[len(segments)] = append(p[len(segments)], path)
}

// match returns the plain path of a URL with the values of its parameters, or nil.
func (p plainPaths) match(u *url.URL) (*plainPath, map[string]string) {
	escaped := u.EscapedPath()
	candidates := p[strings.Count(escaped, "/")+1]
	if len(candidates) == 0 {
		return nil, nil
	}
	for _, path := range candidates {
		if path.matches(escaped) {
			return path, path.values(escaped)
		}
	}
	return nil, nil
}

// matches reports whether a path with as many segments is this one. It does not allocate, because most paths differ.
func (p *plainPath) matches(escaped string) bool {
	for _, want := range p.segments {
		var given string
		given, escaped, _ = strings.Cut(escaped, "/")
		switch {
		case strings.HasPrefix(want, "{"):
			if given == "" {
				return false
			}
		case given != want && unescaped(given) != want:
			return false
		}
	}
	return true
}

// values returns the parameters of a matching path.
func (p *plainPath) values(escaped string) map[string]string {
	values := map[string]string{}
	for _, want := range p.segments {
		var given string
		given, escaped, _ = strings.Cut(escaped, "/")
		if name, parameter := strings.CutPrefix(want, "{"); parameter {
			values[strings.TrimSuffix(name, "}")] = unescaped(given)
		}
	}
	return values
}

// unescaped decodes a segment of a path. An invalid escape leaves it as it is.
func unescaped(segment string) string {
	if decoded, err := url.PathUnescape(segment); err == nil {
		return decoded
	}
	return segment
}

// handler returns the handler of a method, or nil. HEAD is served as GET unless it has a handler of its own.
func (p *plainPath) handler(method string) http.HandlerFunc {
	if h := p.handlers[method]; h != nil || method != http.MethodHead {
		return h
	}
	return p.handlers[http.MethodGet]
}

// methods lists the methods of a path for an Allow header.
func (p *plainPath) methods() []string {
	methods := make([]string, 0, len(p.handlers))
	for method := range p.handlers {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	return methods
}

// plainPaths returns the paths whose handlers are not generated.
func (a *API) plainPaths() plainPaths {
	p := plainPaths{}
	p.handle(core.OpStreamEvents, a.streamEvents)
	p.handle(core.OpStreamImports, a.streamImports)
	p.handle(core.OpExportFavourites, a.serveFavouritesExport)
	p.handle(core.OpExportAllFavourites, a.serveAllFavouritesExport)
	p.handle(core.OpImportFavouriteFile, a.importFavouriteFile)
	p.handle(core.OpExportThread, a.serveThreadExport)
	p.handle(core.OpExportUsage, a.serveUsageExport)
	p.handle(core.OpDownloadExport, a.downloadExport)
	p.handle(core.OpDownloadOriginal, a.downloadOriginal)
	p.handle(core.OpUploadFiles, a.uploadFiles)
	p.handle(core.OpCreateUpload, a.createUpload)
	p.handle(core.OpAppendUpload, a.appendUpload)
	p.handle(core.OpCancelUpload, a.cancelUpload)
	p.handle(core.OpTakeStripeEvent, a.takeStripeEvent)
	uploads, _ := core.OpCreateUpload.Traits()
	p.handleMethod(http.MethodOptions, uploads.Path, a.describeUploads)
	upload, _ := core.OpAppendUpload.Traits()
	p.handleMethod(http.MethodHead, upload.Path, a.findUpload)
	return p
}

// notFound is the error for a path and method that the generated router does not have. If the path is a plain one, the
// Allow header lists its methods; routed are those that the generated router has for it.
func (a *API) notFound(w http.ResponseWriter, u *url.URL, routed string) error {
	var methods []string
	if routed != "" {
		methods = strings.Split(routed, ",")
	}
	if path, _ := a.plain.match(u); path != nil {
		methods = append(methods, path.methods()...)
	}
	if len(methods) == 0 {
		return core.NotFound("path")
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return methodNotAllowed()
}
