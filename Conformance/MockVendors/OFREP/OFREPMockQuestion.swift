/// Why a request is rejected.
struct OFREPMockRefusal: Error {
    var status: Int
    var code: String
    var details: String
}

/// A request, as the protocol's API document defines it.
struct OFREPMockQuestion: Sendable {
    let user: String
    let attributes: [String: MockJSON]

    init(_ request: MockRequest) throws(OFREPMockRefusal) {
        guard request.body.count <= OFREPMock.largestQuestion else {
            throw OFREPMockRefusal(status: 413, code: "GENERAL", details: "the question is too large")
        }
        guard request.header("Content-Type")?.lowercased().hasPrefix("application/json") == true else {
            throw OFREPMockRefusal(status: 400, code: "PARSE_ERROR", details: "Content-Type must be application/json")
        }
        guard let members = MockJSON.parse(request.body)?.object else {
            throw OFREPMockRefusal(status: 400, code: "PARSE_ERROR", details: "the body must be an object")
        }
        guard let context = members["context"]?.object else {
            throw OFREPMockRefusal(status: 400, code: "INVALID_CONTEXT", details: "context must be an object")
        }
        guard let user = context["targetingKey"]?.string, !user.isEmpty else {
            throw OFREPMockRefusal(
                status: 400,
                code: "TARGETING_KEY_MISSING",
                details: "context.targetingKey must be a text"
            )
        }
        self.user = user
        attributes = context
    }
}
