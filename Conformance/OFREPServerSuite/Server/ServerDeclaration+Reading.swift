import AdapterKit
import Experimentation
import HTTPTypes

extension ServerDeclaration {
    /// Reads a declaration from a file's settings.
    ///
    /// - Parameter settings: The settings, described by `docs/schemas/ofrep-server.schema.json`.
    /// - Throws: `ErrorCode.configuration`, naming file and key.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        if settings.has("features") {
            var features: Set<ServerFeature> = []
            for name in try settings.strings("features") {
                guard let feature = ServerFeature(rawValue: name) else {
                    let known = ServerFeature.allCases.map(\.rawValue).joined(separator: ", ")
                    throw settings.error("features", "there is no \"\(name)\"; expected some of \(known)")
                }
                features.insert(feature)
            }
            self.features = features
        }
        if let members = try Self.members("context", &settings) {
            guard members["targetingKey"]?.stringValue?.isEmpty == false else {
                throw settings.error("context", "expected a targetingKey")
            }
            context = members
        }
        if let members = try Self.members("otherAttributes", &settings) { otherAttributes = members }
        types = try settings.section("types") { reader throws(ExperimentationError) in
            var types: [String: DeclaredType] = [:]
            for key in reader.keys { types[key] = try reader.optionalChoice(key) }
            return types
        }
        otherToken = try settings.optionalSecret("otherToken")
        exhaustedToken = try settings.optionalSecret("exhaustedToken")
        tooManyBodyBytes = try settings.optionalInt("tooManyBodyBytes", in: 1...100_000_000)
        change = try Trigger(reading: &settings, "change")
        shutDown = try Trigger(reading: &settings, "shutDown")
    }

    /// The members of an object; `nil` if there is none.
    private static func members(
        _ key: String,
        _ settings: inout SettingsReader
    ) throws(ExperimentationError) -> [String: FlagValue]? {
        guard let value = settings.value(key) else { return nil }
        guard case .object(let members) = value else { throw settings.error(key, "expected an object") }
        return members
    }
}

extension ServerDeclaration.Trigger {
    /// Creates a trigger that sends a `POST` without a body to an address.
    fileprivate init?(reading settings: inout SettingsReader, _ key: String) throws(ExperimentationError) {
        guard let endpoint = try settings.optionalEndpoint(key) else { return nil }
        self.init {
            let request = HTTPRequest(
                method: .post,
                scheme: endpoint.scheme,
                authority: endpoint.authority,
                path: endpoint.path.isEmpty ? "/" : endpoint.path
            )
            let reply = try await DefaultTransport.make().send(
                request,
                body: [],
                limits: HTTPLimits(deadline: .seconds(10))
            )
            guard (200..<300).contains(reply.status) else {
                throw ExperimentationError(.vendorFault, "\(endpoint.host) answered \(reply.status)")
            }
        }
    }
}
