import AdapterKit
import Experimentation

/// The project's configuration as rules for the neutral client, which decides when to request it.
///
/// A location that is unavailable or late doesn't block the rules: the last known one is used, or none.
/// (``SigmaClient`` waits for the location and fails without it, as the vendor's SDK does.)
struct SigmaRulesetSource: RulesetSource {
    private let service: SigmaService
    private let privateID: String
    private let locator: SigmaLocator
    private let log: any LogSink

    init(_ service: SigmaService, privateID: String, environment: ClientEnvironment) {
        self.service = service
        self.privateID = privateID
        locator = SigmaLocator(service, privateID: privateID, environment: environment)
        log = environment.log
    }

    /// The configured lifetime; nothing is fetched in the background.
    var freshness: Freshness {
        Freshness(
            lifetime: service.configuration.cacheLifetime,
            afterExpiry: service.configuration.afterExpiry
        )
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let fetched: SigmaService.Configuration
        do throws(SigmaNetworkError) {
            fetched = try await service.configuration(privateID: privateID)
        } catch {
            throw error.neutral(asking: "configuration")
        }
        let place = isPlaceWanted(by: fetched.root) ? await locator.place() : [:]
        let raw = Self.stored(fetched.raw, place)
        // The service has no validators of its own, but equal bytes are equal rules.
        let digest = MD5(of: raw).hexadecimal
        if digest == validator { return .unchanged }
        return .replaced(ruleset(fetched.root, place), validator: digest, raw: raw)
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        guard let end = raw.firstIndex(of: UInt8(ascii: "\n")) else {
            throw ExperimentationError(.parseError, "The stored configuration isn't one of this adapter's.")
        }
        let place = try JSON.decode([String: String].self, from: Array(raw[..<end]))
        locator.restore(place)
        let root = try JSON.decode(SigmaWire.Root.self, from: Array(raw[(end + 1)...]))
        // The location may have been stored before the setting changed, or by another machine.
        return ruleset(root, isPlaceWanted(by: root) ? place : [:])
    }

    func stop() { locator.stop() }

    private func isPlaceWanted(by root: SigmaWire.Root) -> Bool {
        root.useGeo && service.configuration.asksForPlace
    }

    private func ruleset(_ root: SigmaWire.Root, _ place: [String: String]) -> SigmaRuleset {
        if root.unreadable > 0 {
            log.log(
                .warning,
                "sigma.configuration",
                "\(root.unreadable) flags and experiments of the configuration can't be read"
            )
        }
        let project = SigmaProject(root, assuming: service.configuration.assumptions)
        return SigmaRuleset(project, in: Surroundings(place: place, configuration: service.configuration))
    }

    /// The location as one line, followed by the configuration.
    private static func stored(_ configuration: [UInt8], _ place: [String: String]) -> [UInt8] {
        let line = try? JSON.encode(FlagValue.object(place.mapValues { .string($0) }))
        return (line ?? Array("{}".utf8)) + Array("\n".utf8) + configuration
    }
}
