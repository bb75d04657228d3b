package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The environment that says where databases for tests come from.
const (
	// EnvPostgres is the URL of a server's administrative database, in which tests may create databases. Without
	// it every test process starts a server of its own; make test starts one for all of them.
	EnvPostgres = "CARREL_TEST_POSTGRES"
	// EnvRequirePostgres set to 1 turns "skipped, PostgreSQL is not installed" into a failure.
	EnvRequirePostgres = "CARREL_TEST_REQUIRE_POSTGRES"
)

// adminPatience bounds one administrative statement; creating a database on a busy machine is the slowest.
const adminPatience = time.Minute

// sharedPostgres is the server that the tests of this process share, started by the first that asks. It is global
// because a test process has no other owner for what outlives a single test.
var sharedPostgres postgresCluster

// postgresCluster creates databases on one server and keeps the templates that are copied.
type postgresCluster struct {
	mu        sync.Mutex
	opened    bool
	err       error           // of opening, for everyone who asks
	server    *PostgresServer // nil if somebody else's
	admin     *url.URL
	tag       string // keeps our names apart from those of other processes on the same server
	count     int
	templates map[string]*postgresTemplate
}

// postgresTemplate is a database that is migrated once and then copied.
type postgresTemplate struct {
	once sync.Once
	name string
	err  error
}

// Postgres returns the URL of a new, empty database, which is dropped at the test's end. Where PostgreSQL is not
// installed the test is skipped, or fails if CARREL_TEST_REQUIRE_POSTGRES is 1.
func Postgres(t testing.TB) string {
	t.Helper()
	return openShared(t).create(t, "template0")
}

// PostgresTemplate returns the URL of a new database that migrate has prepared. Migrating happens once per process
// and name; each test then gets a copy, which takes some 50 ms. migrate must close its connections.
func PostgresTemplate(t testing.TB, name string, migrate func(url string) error) string {
	t.Helper()
	c := openShared(t)
	template, err := c.template(name, migrate)
	if err != nil {
		t.Fatalf("template database %q: %v", name, err)
	}
	return c.create(t, template)
}

// openShared returns the shared server, or ends the test.
func openShared(t testing.TB) *postgresCluster {
	t.Helper()
	if err := sharedPostgres.open(); err != nil {
		withoutPostgres(t, err)
	}
	return &sharedPostgres
}

// withoutPostgres ends a test that can't have a server: a missing installation skips it unless that was forbidden,
// and everything else is a failure.
func withoutPostgres(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNoPostgres) && os.Getenv(EnvRequirePostgres) != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// open starts or finds the server, once.
func (c *postgresCluster) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened {
		return c.err
	}
	c.opened = true
	c.tag = "carrel_test_" + strings.ToLower(rand.Text()[:8])
	c.templates = map[string]*postgresTemplate{}
	admin := os.Getenv(EnvPostgres)
	if admin == "" {
		if c.server, c.err = StartPostgres(context.Background(), PostgresOptions{}); c.err != nil {
			return c.err
		}
		admin = c.server.URL("postgres")
	}
	if c.admin, c.err = url.Parse(admin); c.err != nil {
		c.err = fmt.Errorf("%s: %w", EnvPostgres, c.err)
	}
	return c.err
}

// release stops the server, if it is ours; on somebody else's it drops the templates.
func (c *postgresCluster) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened || c.err != nil {
		return nil
	}
	c.opened = false
	if c.server != nil {
		return c.server.Close()
	}
	var errs []error
	for _, template := range c.templates {
		errs = append(errs, c.drop(template.name))
	}
	return errors.Join(errs...)
}

// template returns the name of the template database, migrating it at the first call for that name.
func (c *postgresCluster) template(name string, migrate func(url string) error) (string, error) {
	c.mu.Lock()
	tpl := c.templates[name]
	if tpl == nil {
		tpl = &postgresTemplate{name: c.nextName()}
		c.templates[name] = tpl
	}
	c.mu.Unlock()
	tpl.once.Do(func() {
		if tpl.err = c.exec("CREATE DATABASE " + quote(tpl.name) + " TEMPLATE template0"); tpl.err != nil {
			return
		}
		if tpl.err = migrate(c.url(tpl.name)); tpl.err != nil {
			return
		}
		// A database can be copied only while nobody is connected to it. This refuses anyone who would.
		tpl.err = c.exec("ALTER DATABASE " + quote(tpl.name) + " ALLOW_CONNECTIONS false")
	})
	return tpl.name, tpl.err
}

// create makes a database for one test by copying the template.
func (c *postgresCluster) create(t testing.TB, template string) string {
	t.Helper()
	c.mu.Lock()
	name := c.nextName()
	c.mu.Unlock()
	if err := c.exec("CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template) + " STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := c.drop(name); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return c.url(name)
}

// drop removes a database, with whoever is still connected to it.
func (c *postgresCluster) drop(name string) error {
	return c.exec("DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)")
}

// nextName returns a new name for a database. The caller holds mu.
func (c *postgresCluster) nextName() string {
	c.count++
	return fmt.Sprintf("%s_%d", c.tag, c.count)
}

// url returns the address of a database of the server.
func (c *postgresCluster) url(database string) string {
	u := *c.admin
	u.Path = "/" + database
	return u.String()
}

// exec runs one administrative statement on a connection of its own: they are few, and nothing stays open.
func (c *postgresCluster) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// quote renders a name for a statement.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
