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

// Environment variables that select the databases for tests.
const (
	// EnvPostgres is the URL of an administrative database in which tests may create databases. Without it, every test
	// process starts its own server; make test starts one for all.
	EnvPostgres = "CARREL_TEST_POSTGRES"
	// EnvRequirePostgres set to 1 makes tests fail instead of being skipped if PostgreSQL is not installed.
	EnvRequirePostgres = "CARREL_TEST_REQUIRE_POSTGRES"
)

// adminTimeout is the time limit of one administrative statement. Creating a database on a busy machine is the slowest.
const adminTimeout = time.Minute

// sharedPostgres is the server shared by the tests of this process, started by the first test that needs it. It is
// global because it outlives single tests.
var sharedPostgres postgresCluster

// postgresCluster creates databases on one server and holds the templates.
type postgresCluster struct {
	mu        sync.Mutex
	opened    bool
	err       error           // of opening
	server    *PostgresServer // nil for an external server
	admin     *url.URL
	tag       string // distinguishes database names from those of other processes on the server
	count     int
	templates map[string]*postgresTemplate
}

// postgresTemplate is a database that is migrated once and then copied.
type postgresTemplate struct {
	once sync.Once
	name string
	err  error
}

// Postgres returns the URL of a new, empty database, dropped at the end of the test. If PostgreSQL is not installed,
// the test is skipped, or fails if CARREL_TEST_REQUIRE_POSTGRES is 1.
func Postgres(t testing.TB) string {
	t.Helper()
	return openShared(t).create(t, "template0")
}

// PostgresTemplate returns the URL of a new database prepared by migrate, which runs once per process and name. Each
// test gets a copy, which takes about 50 ms. migrate must close its connections.
func PostgresTemplate(t testing.TB, name string, migrate func(url string) error) string {
	t.Helper()
	c := openShared(t)
	template, err := c.template(name, migrate)
	if err != nil {
		t.Fatalf("template database %q: %v", name, err)
	}
	return c.create(t, template)
}

// openShared returns the shared server, or skips or fails the test.
func openShared(t testing.TB) *postgresCluster {
	t.Helper()
	if err := sharedPostgres.open(); err != nil {
		withoutPostgres(t, err)
	}
	return &sharedPostgres
}

// withoutPostgres skips the test if PostgreSQL is not installed and not required, and fails it otherwise.
func withoutPostgres(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNoPostgres) && os.Getenv(EnvRequirePostgres) != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// open starts or connects to the server once.
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

// release stops an own server. On an external server it drops the templates.
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

// template returns the name of a template database, created and migrated at the first call.
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
		// A database can be copied only while it has no connections.
		tpl.err = c.exec("ALTER DATABASE " + quote(tpl.name) + " ALLOW_CONNECTIONS false")
	})
	return tpl.name, tpl.err
}

// create copies the template for one test.
func (c *postgresCluster) create(t testing.TB, template string) string {
	t.Helper()
	c.mu.Lock()
	name := c.nextName()
	c.mu.Unlock()
	if err := c.exec("CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template) +
		" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := c.drop(name); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return c.url(name)
}

// drop drops a database and its remaining connections.
func (c *postgresCluster) drop(name string) error {
	return c.exec("DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)")
}

// nextName returns a new name for a database. The caller holds mu.
func (c *postgresCluster) nextName() string {
	c.count++
	return fmt.Sprintf("%s_%d", c.tag, c.count)
}

// url returns the URL of a database on the server.
func (c *postgresCluster) url(database string) string {
	u := *c.admin
	u.Path = "/" + database
	return u.String()
}

// exec runs one administrative statement on a new connection.
func (c *postgresCluster) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
