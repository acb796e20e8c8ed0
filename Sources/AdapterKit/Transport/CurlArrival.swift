#if os(Linux)
    import Experimentation
    import HTTPTypes

    /// What came of an exchange.
    enum CurlEnding: Sendable {
        case arrived(CurlArrival)
        case failed(ExperimentationError)

        /// The reply; reading it is left to the caller, because the engine's thread has all exchanges to serve.
        var outcome: Result<HTTPReply, ExperimentationError> {
            switch self {
            case .arrived(let arrival): .success(arrival.reply)
            case .failed(let error): .failure(error)
            }
        }
    }

    /// A response as it came.
    struct CurlArrival: Sendable {
        var status: Int
        var head: ResponseHead
        var body: [UInt8]

        /// Whether it has a valid status, and isn't an interim one.
        var isFinal: Bool { (200...999).contains(status) }

        var reply: HTTPReply {
            HTTPReply(response: HTTPResponse(status: .init(code: status), headerFields: head.fields), body: body)
        }
    }
#endif
