package redlockd;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/** TLS with certificates and keys from PEM files. */
final class Tls {
    /** Each path may be null: without ca, the JVM's authorities count; without key, the client shows no certificate. */
    record Files(Path ca, Path certificate, Path key) {}

    private Tls() {}

    /** The server's certificate and its name are checked. */
    static Socket over(Socket plain, Address address, Files files, int timeoutMs) throws IOException {
        SSLSocket socket = (SSLSocket) context(files).getSocketFactory()
                .createSocket(plain, address.host(), address.port(), true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        socket.setSSLParameters(parameters);
        socket.setSoTimeout(timeoutMs);
        socket.startHandshake();
        socket.setSoTimeout(0);
        return socket;
    }

    private static SSLContext context(Files files) throws IOException {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(files.key == null ? null : keyManagers(files).getKeyManagers(),
                    files.ca == null ? null : trustManagers(files.ca).getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new UsageException("REDLOCK_CA, REDLOCK_CERT or REDLOCK_KEY cannot be used: " + e.getMessage(), -1);
        }
    }

    private static TrustManagerFactory trustManagers(Path ca) throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate certificate : certificates(ca)) {
            store.setCertificateEntry("ca" + number++, certificate);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory;
    }

    private static KeyManagerFactory keyManagers(Files files) throws IOException, GeneralSecurityException {
        if (files.certificate == null) {
            throw new IllegalArgumentException("a key needs its certificate");
        }
        KeyStore store = emptyStore();
        store.setKeyEntry("client", privateKey(files.key), new char[0],
                certificates(files.certificate).toArray(new Certificate[0]));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, new char[0]);
        return factory;
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file)
            throws IOException, GeneralSecurityException {
        try (InputStream in = java.nio.file.Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in);
        }
    }

    private static PrivateKey privateKey(Path file) throws IOException, GeneralSecurityException {
        String pem = java.nio.file.Files.readString(file);
        if (!pem.contains("BEGIN PRIVATE KEY")) {
            throw new IllegalArgumentException(file + " is no unencrypted PKCS#8 key; openssl pkcs8 -topk8 -nocrypt makes it one");
        }
        byte[] bytes = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
        for (String algorithm : List.of("EC", "RSA", "Ed25519")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
            } catch (InvalidKeySpecException e) {
                // The next algorithm may be the key's.
            }
        }
        throw new IllegalArgumentException(file + " has a key of an unknown kind");
    }
}
