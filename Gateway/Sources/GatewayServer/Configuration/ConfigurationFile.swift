import AdapterKit
import Configuration
import Experimentation
import FlagManifest
import Foundation
import Logging
import SystemPackage

/// A configuration file with overrides from the environment.
///
/// The environment variable `XP_GATEWAY_HTTP_PORT` overrides the file's `http.port`, and likewise for every key.
public struct ConfigurationFile: Sendable {
    private let url: URL
    private let variables: [String: String]

    /// Creates a reference to a file.
    ///
    /// - Parameters:
    ///   - path: The JSON file.
    ///   - variables: The environment.
    public init(path: String, variables: [String: String] = ProcessInfo.processInfo.environment) {
        url = URL(fileURLWithPath: path)
        self.variables = variables
    }

    /// Reads and validates the file, and all files that it refers to.
    ///
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    public func read() async throws(ExperimentationError) -> GatewayConfiguration {
        let bytes = try Self.bytes(of: url)
        let document: FlagValue
        do throws(ExperimentationError) { document = try JSON.parse(bytes) } catch {
            throw ExperimentationError(.configuration, "\(url.path): \(error.message)")
        }
        let names = try tenantNames(document)
        try refuseStrays(document, names)
        try refuseStrayVariables(names)
        let values = try await SettingValues(file: url, variables: variables, tenants: names)
        var tenants: [TenantConfiguration] = []
        for name in names { tenants.append(try tenant(name, values)) }
        return try gateway(values, tenants)
    }

    static func bytes(of url: URL) throws(ExperimentationError) -> [UInt8] {
        do { return [UInt8](try Data(contentsOf: url)) } catch {
            throw ExperimentationError(.configuration, "\(url.path): can't be read", cause: error)
        }
    }

    private func error(_ key: String, _ problem: String) -> ExperimentationError {
        ExperimentationError(.configuration, "\(url.path): \"\(key)\": \(problem)")
    }

    // MARK: Names

    private func tenantNames(_ document: FlagValue) throws(ExperimentationError) -> [String] {
        guard case .object(let members) = document else {
            throw ExperimentationError(.configuration, "\(url.path): expected an object")
        }
        guard case .object(let tenants)? = members["tenants"], !tenants.isEmpty else {
            throw error("tenants", "expected an object with a member for each tenant")
        }
        for name in tenants.keys.sorted() {
            // The name is part of keys and of environment variables.
            guard !name.isEmpty, name.utf8.allSatisfy({ Self.nameBytes.contains($0) }) else {
                throw error("tenants.\(name)", "expected a name of a to z, 0 to 9 and _")
            }
        }
        return tenants.keys.sorted()
    }

    private static let nameBytes = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)

    private func refuseStrays(_ document: FlagValue, _ names: [String]) throws(ExperimentationError) {
        let known = Set(Setting.all(of: names).map(\.key))
        var rest = [("", document)]
        var strays: [String] = []
        while let (path, value) = rest.popLast() {
            if case .object(let members) = value,
                !known.contains(path) || known.contains(where: { $0.hasPrefix(path + ".") })
            {
                rest += members.map { (path.isEmpty ? $0 : "\(path).\($0)", $1) }
            } else if !known.contains(path) {
                strays.append(path)
            }
        }
        if let stray = strays.min() { throw error(stray, "no such setting") }
    }

    private func refuseStrayVariables(_ names: [String]) throws(ExperimentationError) {
        let known = Set(Setting.all(of: names).map(\.variable))
        let strays = variables.keys.filter { $0.hasPrefix(Setting.variablePrefix) && !known.contains($0) }
        guard let stray = strays.min() else { return }
        throw ExperimentationError(.configuration, "The environment variable \(stray): no such setting in \(url.path)")
    }

    // MARK: Values

    private func gateway(
        _ values: SettingValues,
        _ tenants: [TenantConfiguration]
    ) throws(ExperimentationError) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(tenants: tenants)
        configuration.host = try values.text("http.host")
        configuration.port = try values.whole("http.port")
        configuration.certificate = try certificate(values)
        configuration.limits.connections = try values.whole("http.connections")
        configuration.limits.headBytes = try values.whole("http.headBytes")
        configuration.limits.bodyBytes = try values.whole("http.bodyBytes")
        configuration.limits.headTime = .seconds(try values.number("http.headSeconds"))
        configuration.limits.bodyTime = .seconds(try values.number("http.bodySeconds"))
        configuration.limits.idleTime = .seconds(try values.number("http.idleSeconds"))
        configuration.origins = try values.texts("http.origins")
        configuration.drain = .seconds(try values.number("shutdown.drainSeconds"))
        configuration.patience = .seconds(try values.number("shutdown.seconds"))
        configuration.logLevel = try choice("log.level", values)
        configuration.operatorTokens = try digests("operators.tokens", values)
        try refuseSharedTokens(tenants)
        if let key = StorePlaces.shared(by: tenants) { throw error(key, "another tenant keeps its data there as well") }
        return configuration
    }

    private func certificate(_ values: SettingValues) throws(ExperimentationError) -> CertificateFiles? {
        let (certificate, key) = (try values.text("http.certificate"), try values.text("http.key"))
        if certificate.isEmpty, key.isEmpty { return nil }
        if certificate.isEmpty { throw error("http.certificate", "missing beside \"http.key\"") }
        if key.isEmpty { throw error("http.key", "missing beside \"http.certificate\"") }
        let files = CertificateFiles(
            certificate: URL(fileURLWithPath: certificate, relativeTo: url).absoluteURL,
            key: URL(fileURLWithPath: key, relativeTo: url).absoluteURL
        )
        do throws(ExperimentationError) { _ = try files.context() } catch {
            throw self.error("http.certificate", error.message)
        }
        return files
    }

    private func refuseSharedTokens(_ tenants: [TenantConfiguration]) throws(ExperimentationError) {
        var holders: [TokenDigest: String] = [:]
        for tenant in tenants {
            for token in tenant.tokens {
                let other = holders.updateValue(tenant.name, forKey: token)
                guard other == nil || other == tenant.name else {
                    throw error("tenants.\(tenant.name).tokens", "a token is another tenant's as well")
                }
            }
        }
    }

    private func tenant(_ name: String, _ values: SettingValues) throws(ExperimentationError) -> TenantConfiguration {
        let prefix = "tenants.\(name)."
        let vendor = URL(fileURLWithPath: try values.text(prefix + "vendor"), relativeTo: url)
        let document: FlagValue
        var move: TenantMove?
        do throws(ExperimentationError) {
            let bytes = try Self.bytes(of: vendor)
            document = try JSON.parse(bytes)
            if TenantMove.isPlan(document) { move = try TenantMove(file: vendor, bytes: bytes) }
        } catch {
            let message = error.code == .configuration ? error.message : "\(vendor.path): \(error.message)"
            throw self.error(prefix + "vendor", message)
        }
        var tenant = TenantConfiguration(
            name: name,
            tokens: try digests(prefix + "tokens", values),
            vendor: document,
            vendorFile: vendor.path,
            store: try store(name, values)
        )
        tenant.move = move
        guard !tenant.tokens.isEmpty else { throw error(prefix + "tokens", "expected at least one") }
        tenant.exposures = try choice(prefix + "exposures", values)
        tenant.assignments = try choice(prefix + "assignments", values)
        tenant.consent = try consent(prefix + "consent", values)
        tenant.types = try types(prefix + "types", values)
        tenant.reuse = AnswerReuse(
            lifetime: .seconds(try values.number(prefix + "decisions.seconds")),
            grace: .seconds(try values.number(prefix + "decisions.graceSeconds")),
            failures: .seconds(try values.number(prefix + "decisions.failureSeconds"))
        )
        tenant.decisionBytes = try values.whole(prefix + "decisions.megabytes") * 1_000_000
        let rate = try values.number(prefix + "requestsPerSecond")
        let burst = try values.number(prefix + "burst")
        tenant.streams = try values.whole(prefix + "streams")
        if rate > 0 { tenant.rateLimit = RateLimit(perSecond: rate, burst: max(1, burst > 0 ? burst : 2 * rate)) }
        return tenant
    }

    private func store(_ name: String, _ values: SettingValues) throws(ExperimentationError)
        -> TenantConfiguration.Store
    {
        let prefix = "tenants.\(name).store"
        var address = try values.text(prefix + ".postgres.url")
        let variable = try values.text(prefix + ".postgres.url.env")
        if !variable.isEmpty {
            guard let value = variables[variable], !value.isEmpty else {
                throw error(prefix + ".postgres.url.env", "the environment has no \(variable)")
            }
            address = value
        }
        if !address.isEmpty {
            let schema = try values.text(prefix + ".postgres.schema")
            let meanwhile = try values.text(prefix + ".postgres.meanwhile")
            return .postgres(
                SharedDatabase(
                    url: address,
                    schema: schema.isEmpty ? "experimentation_\(name)" : schema,
                    connections: try values.whole(prefix + ".postgres.connections"),
                    lease: .seconds(try values.number(prefix + ".postgres.leaseSeconds")),
                    meanwhile: meanwhile.isEmpty ? nil : URL(fileURLWithPath: meanwhile, relativeTo: url).absoluteURL,
                    meanwhileBytes: try values.whole(prefix + ".postgres.meanwhileMegabytes") * 1_000_000
                )
            )
        }
        let file = try values.text(prefix)
        return file == "memory" ? .memory : .file(URL(fileURLWithPath: file, relativeTo: url).absoluteURL)
    }

    private func digests(_ key: String, _ values: SettingValues) throws(ExperimentationError) -> [TokenDigest] {
        var digests: [TokenDigest] = []
        for text in try values.texts(key) {
            guard let digest = TokenDigest(hexadecimal: text) else {
                throw error(key, "expected the SHA-256 of a token in 64 hexadecimal digits")
            }
            digests.append(digest)
        }
        return digests
    }

    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        _ values: SettingValues
    ) throws(ExperimentationError) -> Choice {
        guard let choice = Choice(rawValue: try values.text(key)) else {
            throw error(key, "expected one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    private func consent(_ key: String, _ values: SettingValues) throws(ExperimentationError) -> Consent {
        guard let consent = Consent(rawValue: try values.text(key)) else {
            throw error(key, "expected one of unknown, granted, denied")
        }
        return consent
    }

    private func types(_ key: String, _ values: SettingValues) throws(ExperimentationError) -> [String: FlagType] {
        var types: [String: FlagType] = [:]
        for pair in try values.texts(key) {
            guard let mark = pair.lastIndex(of: "="),
                let type = FlagType(rawValue: String(pair[pair.index(after: mark)...]))
            else {
                let known = FlagType.allCases.map(\.rawValue).joined(separator: ", ")
                throw error(key, "expected a key, = and one of \(known)")
            }
            types[String(pair[..<mark])] = type
        }
        return types
    }
}
