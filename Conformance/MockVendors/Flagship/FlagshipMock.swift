import Foundation

/// The server side of Flagship: the Decision API, the bucketing file, and the collector of hits.
///
/// The Decision API evaluates the file that the CDN serves, by its own targeting rules or by those of the SDK for iOS.
/// It remembers its decisions and which of them were exposed.
public actor FlagshipMock: MockVendor {
    /// The vendor's name.
    public static let name = "flagship"

    /// The only environment; any other is unknown.
    public nonisolated let environmentID: String
    /// The key that the Decision API requires.
    public nonisolated let apiKey: String

    var file: FlagshipMockFile
    var raw: [UInt8]
    /// The file's version, from which its date is derived.
    var version = 1
    var isPanicking = false
    var rules: FlagshipMockRules = .server
    var remembers = true
    var isStrict = true
    var sendsValidators = true

    var memory = FlagshipMockMemory()
    var activations: [FlagshipMockActivation] = []
    var hits: [FlagshipMockHit] = []
    var reports: [MockJSON] = []
    var visits: [MockJSON] = []
    var taken: [FlagshipMockTaken] = []
    var requests = 0
    var made = 0

    /// Creates a back end without campaigns.
    public init(environmentID: String = "bkk9glocmjcg0vtmdlng", apiKey: String = "flagship-mock-key") {
        self.environmentID = environmentID
        self.apiKey = apiKey
        raw = Array(#"{"campaigns":[]}"#.utf8)
        file = .empty
    }

    /// The credentials an application needs.
    public nonisolated var credentials: [String: String] { ["environmentID": environmentID, "apiKey": apiKey] }

    /// The three addresses that an application configures.
    public nonisolated func endpoints(at base: String) -> [String: String] {
        let root = base.hasSuffix("/") ? base : base + "/"
        return ["decision": root + "v2/", "cdn": root, "events": root]
    }

    /// The operation: `campaigns`, `campaign`, `flags`, `context`, `activate`, `bucketing`, `accountSettings`, `hits`,
    /// `troubleshooting`, `analytics`.
    public nonisolated func operation(of request: MockRequest) -> String {
        let segments = request.segments
        switch (segments.first, segments.count) {
        case (nil, _): return "hits"
        case ("troubleshooting", 1): return "troubleshooting"
        case ("analytics", 1): return "analytics"
        case ("v2", 2) where segments[1] == "activate": return "activate"
        case ("v2", 2) where segments[1] == "campaigns" || segments[1] == "flags": return segments[1]
        case ("v2", 3) where segments[1] == "campaigns": return "campaign"
        case ("v2", 3) where segments[2] == "campaigns" || segments[2] == "flags": return segments[2]
        case ("v2", 3) where segments[2] == "events": return "context"
        case ("v2", 4) where segments[2] == "campaigns": return "campaign"
        case (_, 2) where segments[1] == "bucketing.json": return "bucketing"
        case (_, 2) where segments[1] == "accountSettings.json": return "accountSettings"
        default: return "unknown"
        }
    }

    /// Answers as the vendor would.
    public func respond(to request: MockRequest) -> MockResponse {
        requests += 1
        let operation = operation(of: request)
        let isRead = operation == "bucketing" || operation == "accountSettings"
        guard operation != "unknown" else { return Self.failure("Not Found", status: 404) }
        guard request.method == (isRead ? "GET" : "POST") || isRead && request.method == "HEAD" else {
            return Self.failure("Method Not Allowed", status: 405)
        }
        switch operation {
        case "campaigns", "campaign", "flags", "context": return decide(request, operation: operation)
        case "activate": return activate(request)
        case "bucketing", "accountSettings": return publish(request, operation: operation)
        case "hits": return collect(request)
        default: return report(request, operation: operation)
        }
    }

    /// Forgets visitors, hits and reports; keeps the file and the switches.
    public func reset() {
        memory.removeAll()
        activations = []
        hits = []
        reports = []
        visits = []
        taken = []
        requests = 0
        made = 0
    }

    /// Replaces the bucketing file and changes its date.
    public func load(_ world: Data) throws(MockWorldError) {
        file = try FlagshipMockFile([UInt8](world))
        raw = [UInt8](world)
        version += 1
    }

    static func failure(_ message: String, status: Int = 400) -> MockResponse {
        .json(MockJSON.object(["message": .string(message)]).text, status: status)
    }

    // MARK: The collector

    private func collect(_ request: MockRequest) -> MockResponse {
        do {
            let new = try FlagshipMockCollector.hits(of: request.body, environment: environmentID, request: requests)
            hits += new
            taken += new.map { FlagshipMockTaken(json: MockJSON.object($0.fields).text, body: request.body) }
            return MockResponse(status: 200)
        } catch {
            return Self.failure(error.description)
        }
    }

    private func report(_ request: MockRequest, operation: String) -> MockResponse {
        do {
            reports.append(
                try FlagshipMockCollector.report(
                    of: request.body,
                    type: operation == "analytics" ? "USAGE" : "TROUBLESHOOTING",
                    environment: environmentID
                )
            )
            return MockResponse(status: 200)
        } catch {
            return Self.failure(error.description)
        }
    }

    private func activate(_ request: MockRequest) -> MockResponse {
        do {
            let seen = try FlagshipMockCollector.activations(
                of: request.body,
                environment: environmentID,
                request: requests
            )
            activations += seen
            taken += seen.map { FlagshipMockTaken(activation: $0, body: request.body) }
            for activation in seen {
                memory[activation.visitor][activation.group] = FlagshipMockPlace(
                    variation: activation.variation,
                    isActivated: true
                )
            }
            return MockResponse(status: 204)
        } catch {
            return Self.failure(error.description)
        }
    }
}

extension FlagshipMockFile {
    static let empty = FlagshipMockFile(panic: false, settings: .object([:]), campaigns: [])

    private init(panic: Bool, settings: MockJSON, campaigns: [Campaign]) {
        self.panic = panic
        self.settings = settings
        self.campaigns = campaigns
    }
}
