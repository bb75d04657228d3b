package client_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/client"
	"carrel/internal/testkit"
)

// TestClientUsesARealServer runs the operations of a program against the real binary with the demo library.
func TestClientUsesARealServer(t *testing.T) {
	t.Parallel()
	server := testkit.StartServer(t, testkit.ServerOptions{Args: []string{"--demo"}})
	key, err := os.ReadFile(filepath.Join(server.Data, "demo.key"))
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(server.URL, client.APIKey(strings.TrimSpace(string(key))), client.Options{})
	t.Cleanup(c.Close)
	ctx := t.Context()

	description := "For a test."
	created, err := c.CreateAgent(client.WithIdempotencyKey(ctx, "once"), client.AgentCreate{
		Name: "Papers", Description: &description,
	})
	if err != nil || created.Agent.Description != description {
		t.Fatalf("%+v, %v", created, err)
	}
	again, err := c.CreateAgent(client.WithIdempotencyKey(ctx, "once"), client.AgentCreate{
		Name: "Papers", Description: &description,
	})
	if err != nil || again.Agent.ID != created.Agent.ID {
		t.Errorf("the repeated request: %+v, %v", again, err)
	}
	landmarks := ""
	for agent, err := range c.ListAgentsAll(ctx, client.ListAgentsParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if agent.Name == "Landmarks" {
			landmarks = agent.ID
		}
	}
	found, err := c.Search(ctx, landmarks, client.SearchRequest{Query: "relational model"})
	if err != nil || len(found.Results) == 0 || found.Results[0].ExternalID != "codd-1970" {
		t.Errorf("%+v, %v", found, err)
	}

	thread, err := c.CreateThread(ctx, landmarks, client.ThreadCreate{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := c.SendMessage(client.WithPrefer(ctx, "respond-async"), landmarks, thread.Thread.ID,
		client.MessageSend{Text: "Who proposed the relational model?"})
	if err != nil {
		t.Fatal(err)
	}
	var state client.TurnState
	for event, err := range c.StreamTurn(ctx, landmarks, thread.Thread.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(event)
	}
	message, err := c.AwaitTurn(ctx, landmarks, thread.Thread.ID, turn.TurnID)
	if err != nil || message.Text != state.Text() || len(message.Citations) == 0 {
		t.Errorf("the reply is %+v, %v; streamed %q", message, err, state.Text())
	}
	messages, err := c.Thread(ctx, landmarks, thread.Thread.ID)
	if err != nil || len(messages) != 2 || messages[0].Role != "user" {
		t.Errorf("%+v, %v", messages, err)
	}

	sources, err := c.ListSources(ctx, created.Agent.ID)
	if err != nil || len(sources.Sources) != 1 {
		t.Fatalf("%+v, %v", sources, err)
	}
	uploaded, err := c.UploadFile(ctx, created.Agent.ID, sources.Sources[0].ID, "note.md",
		func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("# A note\n\nText.")), nil })
	if err != nil || uploaded.Uploads[0].Name != "note.md" {
		t.Errorf("%+v, %v", uploaded, err)
	}

	_, err = c.GetAccount(ctx)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeInsufficientScope || e.RequestID == "" {
		t.Errorf("without a scope: %+v", err)
	}
	stranger := client.New(server.URL, client.APIKey("crl_wrong"), client.Options{})
	t.Cleanup(stranger.Close)
	_, err = stranger.ListAgents(ctx, client.ListAgentsParams{})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong key: %+v", err)
	}
}
