/// The platform's own transport.
public enum DefaultTransport {
    /// Makes an engine with its own connections: ``CurlTransport`` on Linux, `URLSessionTransport` on Apple platforms.
    ///
    /// An engine is meant to be kept for as long as its provider lives; its connections are closed when it is released.
    public static func make() -> any HTTPTransport {
        #if os(Linux)
            CurlTransport()
        #else
            URLSessionTransport()
        #endif
    }
}
