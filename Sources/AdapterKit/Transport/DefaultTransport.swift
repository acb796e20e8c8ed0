/// The platform's own transport.
public enum DefaultTransport {
    /// Creates an engine with its own connections: ``CurlTransport`` on Linux, `URLSessionTransport` on Apple
    /// platforms.
    ///
    /// Keep an engine for as long as its provider lives; its connections are closed when it is released.
    public static func make() -> any HTTPTransport {
        #if os(Linux)
            CurlTransport()
        #else
            URLSessionTransport()
        #endif
    }
}
