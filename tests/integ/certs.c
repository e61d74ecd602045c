#include "tests/integ/certs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char functions[] =
    "set -e; exec 2>&1; cd \"$1\"\n"
    "key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key; chmod 600 $1.key; "
    "}\n"
    "ca() { key $1; openssl req -x509 -new -key $1.key -out $1.pem -days 3650 -subj /CN=$1; }\n"
    /* name, names in it, CA, use, more options of openssl ca */
    "cert() {\n"
    "    key $1; openssl req -new -key $1.key -out $1.csr -subj /CN=$1\n"
    "    printf 'subjectAltName=%s\\nextendedKeyUsage=%s\\n' $2 $4 >$1.ext\n"
    "    openssl ca -batch -notext -config ca.cnf -cert $3.pem -keyfile $3.key -in $1.csr -out $1.pem \\\n"
    "        -extfile $1.ext $5\n"
    "}\n";

static const char all[] =
    "printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nnew_certs_dir=.\\nrand_serial=yes\\n"
    "default_md=sha256\\nunique_subject=no\\npolicy=p\\n[p]\\ncommonName=supplied\\n' >ca.cnf\n"
    ": >index\n"
    "here=DNS:localhost,IP:127.0.0.1\n"
    "ca ca; ca other-ca\n"
    "cert server $here ca serverAuth '-days 365'\n"
    "cert rogue $here other-ca serverAuth,clientAuth '-days 365'\n"
    "cert wrong DNS:wrong.example,IP:192.0.2.1 ca serverAuth '-days 365'\n"
    "cert expired $here ca serverAuth,clientAuth '-startdate 20200101000000Z -enddate 20200102000000Z'\n"
    "cert client DNS:client.example ca clientAuth '-days 365'\n";

static void run(const char *folder, const char *commands)
{
    char script[4096], log[PATH];
    int status = 0;

    snprintf(script, sizeof script, "%s%s", functions, commands);
    snprintf(log, sizeof log, "%s/log", folder);
    pid_t pid = program_start((const char *const[]){"sh", "-c", script, "sh", folder, NULL}, log);
    while (waitpid(pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    ck_assert_msg(status == 0, "openssl: %s", file_read(log));
}

const char *certs_make(void)
{
    const char *folder = folder_new("certs");

    run(folder, all);
    return folder;
}

void certs_sign(const char *folder, const char *name, const char *names, int days)
{
    char commands[512];

    snprintf(commands, sizeof commands, "cert %s %s ca serverAuth,clientAuth '-days %d'\n", name, names,
             days);
    run(folder, commands);
}

void certs_secure(struct server *server, const char *folder, const char *name, const char *auth)
{
    if (!server->port)
        server->port = port_free();
    const char *said = redis(server,
                             "CONFIG SET tls-ca-cert-file %s/ca.pem tls-cert-file %s/%s.pem tls-key-file "
                             "%s/%s.key tls-auth-clients %s tls-port %u",
                             folder, folder, name, folder, name, auth, server->port);
    ck_assert_msg(strcmp(said, "OK") == 0, "CONFIG SET tls-port: %s", said);
}
