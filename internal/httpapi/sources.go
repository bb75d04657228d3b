package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/importer"
	"carrel/internal/source"
)

// ListSources answers GET …/sources.
func (h handlers) ListSources(ctx context.Context, p oas.ListSourcesParams) (*oas.SourceList, error) {
	sources, err := h.Sources.List(ctx, actor(ctx), p.AgentId)
	if err != nil {
		return nil, err
	}
	out := &oas.SourceList{Sources: make([]oas.Source, len(sources))}
	for i, s := range sources {
		imports, err := h.Importer.Imports(ctx, actor(ctx), p.AgentId, s.ID)
		if err != nil {
			return nil, err
		}
		if out.Sources[i], err = h.sourceOf(s, imports); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CreateSource answers POST …/sources. It starts the first import if the source can be synced.
func (h handlers) CreateSource(
	ctx context.Context, req *oas.SourceCreate, p oas.CreateSourceParams,
) (*oas.SourceReply, error) {
	src, err := h.Sources.Add(ctx, actor(ctx), p.AgentId, source.New{
		Name: req.Name, Kind: req.Kind.Value, Language: req.Language.Value, Default: req.Default.Value,
		Settings: settingsOf(req.Settings.Value), Secret: req.Secret.Value,
	})
	if err != nil {
		return nil, err
	}
	if h.Sources.Syncs(src) {
		if _, err := h.Importer.Sync(ctx, actor(ctx), p.AgentId, src.ID); err != nil {
			return nil, err
		}
	}
	return h.sourceReply(ctx, p.AgentId, src.ID)
}

// GetSource answers GET …/sources/{sourceId}.
func (h handlers) GetSource(ctx context.Context, p oas.GetSourceParams) (*oas.SourceReply, error) {
	return h.sourceReply(ctx, p.AgentId, p.SourceId)
}

// ChangeSource answers PATCH …/sources/{sourceId}.
func (h handlers) ChangeSource(
	ctx context.Context, req *oas.SourceChange, p oas.ChangeSourceParams,
) (*oas.SourceReply, error) {
	if req.Default.Set && !req.Default.Value {
		return nil, core.InvalidField("/default", "Can only be true. Make another source the default instead.")
	}
	c := source.Change{
		Name: pointer(req.Name), Language: pointer(req.Language), Default: req.Default.Value, Secret: pointer(req.Secret),
	}
	if req.Settings.Set {
		set := settingsOf(req.Settings.Value)
		c.Settings = &set
	}
	src, err := h.Sources.Change(ctx, actor(ctx), p.AgentId, p.SourceId, c)
	if err != nil {
		return nil, err
	}
	reply, err := h.sourceReply(ctx, p.AgentId, p.SourceId)
	if err == nil && src.SecretRemoved {
		reply.Warnings = []oas.SourceWarning{{
			Code:   source.WarnSecretRemoved,
			Detail: "The secret was removed because the address changed. Enter it again if the new address needs it.",
		}}
	}
	return reply, err
}

// DeleteSource answers DELETE …/sources/{sourceId}.
func (h handlers) DeleteSource(ctx context.Context, p oas.DeleteSourceParams) (*oas.Deleted, error) {
	return deleted(h.Sources.Delete(ctx, actor(ctx), p.AgentId, p.SourceId, p.Successor.Value))
}

// SyncSource answers POST …/sources/{sourceId}/sync.
func (h handlers) SyncSource(ctx context.Context, p oas.SyncSourceParams) (*oas.ImportReply, error) {
	i, err := h.Importer.Sync(ctx, actor(ctx), p.AgentId, p.SourceId)
	if err != nil {
		return nil, err
	}
	return &oas.ImportReply{Import: importOf(i)}, nil
}

// ListImports answers GET …/sources/{sourceId}/imports.
func (h handlers) ListImports(ctx context.Context, p oas.ListImportsParams) (*oas.ImportList, error) {
	imports, err := h.Importer.Imports(ctx, actor(ctx), p.AgentId, p.SourceId)
	if err != nil {
		return nil, err
	}
	out := &oas.ImportList{Imports: make([]oas.ImportJob, len(imports))}
	for i, one := range imports {
		out.Imports[i] = importOf(one)
	}
	return out, nil
}

// ListFiles answers GET …/sources/{sourceId}/files.
func (h handlers) ListFiles(ctx context.Context, p oas.ListFilesParams) (*oas.FileList, error) {
	files, next, err := h.Importer.Files(ctx, actor(ctx), p.AgentId, p.SourceId, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.FileList{Files: make([]oas.SourceFile, len(files)), NextCursor: optional(next)}
	for i, f := range files {
		out.Files[i] = oas.SourceFile{
			ID: f.ID, Name: f.Name, Size: f.Size, Documents: int64(f.Documents), Skipped: int64(f.Skipped),
			Error: optional(f.Error), Title: optional(f.Title),
			Outcome:   oas.OptImportOutcome{Value: oas.ImportOutcome(f.Outcome), Set: f.Outcome != ""},
			CreatedAt: timestamp(f.CreatedAt), UpdatedAt: timestamp(f.UpdatedAt),
		}
	}
	return out, nil
}

// DeleteFile answers DELETE …/sources/{sourceId}/files/{fileId}.
func (h handlers) DeleteFile(ctx context.Context, p oas.DeleteFileParams) (*oas.Deleted, error) {
	return deleted(h.Importer.DeleteFile(ctx, actor(ctx), p.AgentId, p.SourceId, p.FileId))
}

// sourceReply returns a source with its latest import.
func (h handlers) sourceReply(ctx context.Context, agentID, sourceID string) (*oas.SourceReply, error) {
	src, err := h.Sources.Get(ctx, actor(ctx), agentID, sourceID)
	if err != nil {
		return nil, err
	}
	imports, err := h.Importer.Imports(ctx, actor(ctx), agentID, sourceID)
	if err != nil {
		return nil, err
	}
	out, err := h.sourceOf(src, imports)
	return &oas.SourceReply{Source: out}, err
}

func (h handlers) sourceOf(s source.Source, imports []importer.Import) (oas.Source, error) {
	set, err := s.SettingsOf()
	if err != nil {
		return oas.Source{}, err
	}
	indexed, status := h.Sources.Progress(s.ID, s.Documents)
	out := oas.Source{
		ID: s.ID, AgentId: s.AgentID, Name: s.Name, Kind: s.Kind, Default: s.Default,
		Documents: int64(s.Documents), Indexed: int64(indexed),
		Status: oas.SourceStatus(status), Language: s.Language, HasSecret: h.Sources.HasSecret(s),
		Settings: oas.SourceSettings{
			Path: optional(set.Path), Urls: set.URLs, URL: optional(set.URL), Language: optional(set.Language),
			Tool: optional(set.Tool), SyncMinutes: positive(set.SyncMinutes),
			Bucket: optional(set.Bucket), Prefix: optional(set.Prefix), Region: optional(set.Region),
			Endpoint: optional(set.Endpoint), AccessKeyId: optional(set.AccessKeyID),
			Library: optional(set.Library), Collection: optional(set.Collection),
		},
		LastSyncAt: optionalTime(s.SyncedAt), NextSyncAt: optionalTime(s.NextSyncAt),
		CreatedAt: timestamp(s.CreatedAt), UpdatedAt: timestamp(s.UpdatedAt),
	}
	if i, some := importer.MostRelevant(imports); some {
		out.Import = oas.NewOptImportJob(importOf(i))
	}
	return out, nil
}

func settingsOf(s oas.SourceSettings) source.Settings {
	return source.Settings{
		Path: s.Path.Value, URLs: s.Urls, URL: s.URL.Value, Language: s.Language.Value, Tool: s.Tool.Value,
		SyncMinutes: s.SyncMinutes.Value,
		Bucket:      s.Bucket.Value, Prefix: s.Prefix.Value, Region: s.Region.Value, Endpoint: s.Endpoint.Value,
		AccessKeyID: s.AccessKeyId.Value, Library: s.Library.Value, Collection: s.Collection.Value,
	}
}

func importOf(i importer.Import) oas.ImportJob {
	out := oas.ImportJob{
		ID: i.ID, SourceId: i.SourceID, State: oas.TaskState(i.State), Failed: int64(i.Failed), Current: optional(i.Current),
		EtaSeconds: oas.OptInt64{Value: int64(i.ETASeconds), Set: i.ETASeconds > 0},
		Files: oas.ImportFiles{
			Total: int64(i.Files.Total), Done: int64(i.Files.Done), Unchanged: int64(i.Files.Unchanged),
			Failed: int64(i.Files.Failed), Removed: int64(i.Files.Removed),
		},
		Bytes: oas.ImportBytes(i.Bytes),
		Documents: oas.ImportDocuments{
			Added: int64(i.Documents.Added), Updated: int64(i.Documents.Updated),
			Unchanged: int64(i.Documents.Unchanged), Deleted: int64(i.Documents.Deleted),
		},
		Errors: make([]oas.ImportError, len(i.Errors)), CreatedAt: timestamp(i.CreatedAt),
		UpdatedAt: timestamp(i.UpdatedAt),
	}
	for n, e := range i.Errors {
		out.Errors[n] = oas.ImportError{File: e.File, Reason: e.Reason}
	}
	return out
}
