package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// Make writes a self-signed server certificate for host names and addresses, and its private
// key, to new PEM files. The certificate is valid from now for the given time. Clients need the
// certificate's file to trust it.
func Make(certificate, key string, names []string, now time.Time, valid time.Duration) error {
	for _, path := range []string{certificate, key} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return &fault.Error{Boundary: fault.Config, Kind: fault.Refused, Where: path, What: "the file already exists", Hint: "name another file, or move this one away", Err: err}
		}
	}
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(valid),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: certificate, What: "a certificate for these names cannot be made", Err: err, Hint: "use host names and addresses, without ports"}
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return renameio.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}
