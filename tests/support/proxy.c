/* proxy.c - a PostgreSQL proxy for the tests that cuts connections where it is
 * told to.
 *
 *   proxy LISTEN_DIR SERVER_DIR [POINT [N [MATCH]]] [refuse|refuse=MS] [hold]
 *
 * Listens on LISTEN_DIR/.s.PGSQL.5432 and passes everything on to the server's
 * socket SERVER_DIR/.s.PGSQL.5432. It knows the messages' frames (a type byte
 * and a length), so that POINT can be
 *
 *   copy-out N        N bytes of COPY data have come from the server
 *   copy-in N         N bytes of COPY data have been passed to the server
 *   statement N TEXT  the N-th statement that has TEXT: it is not passed on
 *   before-commit N   the N-th COMMIT: it is not passed on
 *   after-commit N    the N-th COMMIT has been answered: the answer is not passed on
 *
 * Numbers count over all connections; each point cuts once. With "refuse" new
 * connections are refused from then on (for MS milliseconds); with "hold" only
 * the client's side is cut, and the server goes on waiting for it, with all its
 * locks, as after a network that went away. Prints "ready", and "cut" at the cut.
 * LISTEN_DIR/bytes holds how many bytes the server has sent over all connections
 * that have ended. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

typedef struct link {
    int client, server;
    int commits; /* a COMMIT of this connection that must not be answered */
    pthread_t down;
} link_;

static const char *point = "", *match = "COMMIT";
static const char *server_dir, *listen_dir;
static long long sent; /* bytes by the server */
static long long number = 1;
static int hold, refuses, refuse_ms;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long long seen; /* bytes or statements so far */
static int was_cut;
static double cut_at;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int socket_at(const char *dir, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (snprintf(address->sun_path, sizeof address->sun_path, "%s/.s.PGSQL.5432", dir) >= (int)sizeof address->sun_path) return -1;
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t did = write(fd, p, n);
        if (did <= 0) return -1;
        p += did;
        n -= (size_t)did;
    }
    return 0;
}

static int read_all(int fd, char *p, size_t n)
{
    while (n > 0) {
        ssize_t did = read(fd, p, n);
        if (did <= 0) return -1;
        p += did;
        n -= (size_t)did;
    }
    return 0;
}

static uint32_t big(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* One message: its type (0 for the first of a client) and all its bytes. */
typedef struct message {
    char type;
    char *bytes;
    size_t n, cap;
} message;

static int read_message(int fd, int typed, message *m)
{
    size_t head = typed ? 5 : 4;
    char start[5];
    if (read_all(fd, start, head) != 0) return -1;
    uint32_t length = big(start + head - 4);
    m->type = typed ? start[0] : 0;
    m->n = head - 4 + length;
    if (length < 4 || length > 1u << 30) return -1;
    if (m->n > m->cap) {
        m->cap = m->n * 2;
        m->bytes = realloc(m->bytes, m->cap);
        if (m->bytes == NULL) abort();
    }
    memcpy(m->bytes, start, head);
    return read_all(fd, m->bytes + head, m->n - head);
}

static void cut(link_ *l)
{
    was_cut = 1;
    cut_at = now();
    printf("cut\n");
    fflush(stdout);
    shutdown(l->client, SHUT_RDWR);
    if (!hold) shutdown(l->server, SHUT_RDWR);
}

/* Count what a message adds; 1 when the point is reached by it. */
static int reached(const char *name, long long add)
{
    if (strcmp(point, name) != 0 || was_cut) return 0;
    seen += add;
    return seen >= number;
}

static const char *statement_of(const message *m)
{
    const char *text = m->bytes + 5;
    if (m->type == 'Q') return text;
    return m->type == 'P' ? text + strlen(text) + 1 : NULL;
}

/* What a client sends. 0 passed on, 1 the connection is cut. */
static int from_client(link_ *l, const message *m)
{
    int stop = 0;
    pthread_mutex_lock(&mutex);
    const char *sql = statement_of(m);
    if (sql != NULL && strcmp(point, "statement") == 0 && strstr(sql, match) != NULL) stop = reached("statement", 1);
    if (sql != NULL && strcmp(sql, "COMMIT") == 0) {
        stop |= reached("before-commit", 1);
        if (reached("after-commit", 1)) l->commits = 1;
    }
    if (stop) cut(l);
    pthread_mutex_unlock(&mutex);
    if (stop) return 1;
    int failed = write_all(l->server, m->bytes, m->n) != 0;
    pthread_mutex_lock(&mutex);
    if (!failed && m->type == 'd' && reached("copy-in", (long long)m->n)) {
        cut(l);
        failed = 1;
    }
    pthread_mutex_unlock(&mutex);
    return failed;
}

/* What the server sends. A COMMIT is answered when the server is ready again. */
static int from_server(link_ *l, const message *m)
{
    int stop = 0;
    pthread_mutex_lock(&mutex);
    if (l->commits && !was_cut) {
        if (m->type == 'Z') {
            cut(l);
            stop = 1;
        }
        pthread_mutex_unlock(&mutex);
        return stop;
    }
    sent += (long long)m->n;
    if (m->type == 'd') stop = reached("copy-out", (long long)m->n);
    if (stop) cut(l);
    pthread_mutex_unlock(&mutex);
    return stop ? 1 : write_all(l->client, m->bytes, m->n) != 0;
}

static void *down(void *arg)
{
    link_ *l = arg;
    message m = {0};
    while (read_message(l->server, 1, &m) == 0)
        if (from_server(l, &m) != 0) break;
    shutdown(l->client, SHUT_RDWR);
    free(m.bytes);
    return NULL;
}

static void tell_bytes(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/bytes", listen_dir);
    pthread_mutex_lock(&mutex);
    FILE *f = fopen(path, "w");
    if (f != NULL) {
        fprintf(f, "%lld\n", sent);
        fclose(f);
    }
    pthread_mutex_unlock(&mutex);
}

static void *up(void *arg)
{
    link_ *l = arg;
    message m = {0};
    struct sockaddr_un address;
    l->server = socket_at(server_dir, &address);
    if (l->server >= 0 && connect(l->server, (struct sockaddr *)&address, sizeof address) == 0) {
        int ok = read_message(l->client, 0, &m) == 0 && write_all(l->server, m.bytes, m.n) == 0;
        if (ok && pthread_create(&l->down, NULL, down, l) == 0) {
            while (read_message(l->client, 1, &m) == 0)
                if (from_client(l, &m) != 0) break;
            pthread_mutex_lock(&mutex);
            int keep = hold && was_cut;
            pthread_mutex_unlock(&mutex);
            while (keep) pause(); /* the server is not told */
            shutdown(l->server, SHUT_RDWR);
            pthread_join(l->down, NULL);
            tell_bytes();
        }
    }
    if (l->server >= 0) close(l->server);
    close(l->client);
    free(m.bytes);
    free(l);
    return NULL;
}

static int refused(void)
{
    pthread_mutex_lock(&mutex);
    int no = was_cut && refuses && (refuse_ms == 0 || now() - cut_at < refuse_ms / 1000.0);
    pthread_mutex_unlock(&mutex);
    return no;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address;
    if (argc < 3) {
        fprintf(stderr, "proxy LISTEN_DIR SERVER_DIR [POINT [N [TEXT]]] [refuse|refuse=MS] [hold]\n");
        return 2;
    }
    listen_dir = argv[1];
    server_dir = argv[2];
    int words = 0;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "hold") == 0) hold = 1;
        else if (strncmp(argv[i], "refuse", 6) == 0) {
            refuses = 1;
            refuse_ms = argv[i][6] == '=' ? atoi(argv[i] + 7) : 0;
        } else if (words++ == 0) point = argv[i];
        else if (words == 2) number = atoll(argv[i]);
        else match = argv[i];
    }
    signal(SIGPIPE, SIG_IGN);
    int door = socket_at(argv[1], &address);
    if (door < 0 || bind(door, (struct sockaddr *)&address, sizeof address) != 0 || listen(door, 64) != 0) {
        perror("proxy");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        int client = accept(door, NULL, NULL);
        if (client < 0) continue;
        if (refused()) {
            close(client);
            continue;
        }
        link_ *l = calloc(1, sizeof *l);
        pthread_t thread;
        if (l == NULL) abort();
        l->client = client;
        if (pthread_create(&thread, NULL, up, l) != 0) abort();
        pthread_detach(thread);
    }
}
