import Experimentation

/// SHA-256, for adapters and servers that store a digest instead of a secret or name something by its content.
public enum SHA256 {
    /// The 32 bytes of the digest.
    public static func digest(of bytes: some Sequence<UInt8>) -> [UInt8] { Digest.sha256(bytes) }
}
