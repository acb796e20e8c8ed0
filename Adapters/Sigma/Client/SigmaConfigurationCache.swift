import AdapterKit
import Experimentation
import Foundation

/// A client's configuration and location: valid while they exist and are young enough, fetched on demand
/// with one request for all concurrent callers, and kept over restarts.
///
/// Nothing outlives its validity: if the service is unavailable, an expired configuration counts as none.
actor SigmaConfigurationCache {
    private var service: SigmaService
    private let records: SigmaRecords
    private let profile: SigmaProfile
    private let time: any TimeSource
    private let log: any LogSink
    private let failsWithoutPlace: Bool
    private var rules: (value: SigmaRuleset, date: Date)?
    private var place: (value: [String: String], date: Date)?
    private var isRestored = false
    private var isFailing = false
    private let request = SingleFlight<String, Result<SigmaRuleset, SigmaError>>()

    init(
        _ service: SigmaService,
        records: SigmaRecords,
        profile: SigmaProfile,
        environment: ClientEnvironment,
        failsWithoutPlace: Bool
    ) {
        self.service = service
        self.records = records
        self.profile = profile
        time = environment.time
        log = environment.log
        self.failsWithoutPlace = failsWithoutPlace
    }

    /// Returns valid rules, fetching what has expired.
    ///
    /// A cancelled caller leaves at once; the request continues for the others.
    func ruleset() async throws(SigmaError) -> SigmaRuleset {
        if let valid = validRules { return valid }
        let result: Result<SigmaRuleset, SigmaError>
        do throws(ExperimentationError) {
            result = try await request("rules") { await self.fetch() }
        } catch {
            throw .requestConfigFailed(.urlError(error))
        }
        return try result.get()
    }

    private func fetch() async -> Result<SigmaRuleset, SigmaError> {
        do throws(SigmaError) {
            let rules = try await refresh()
            isFailing = false
            return .success(rules)
        } catch {
            // Only the first of several failures in a row is logged, since calls may answer all of them with `nil`.
            if !isFailing { log.log(.warning, "sigma.fetch", "\(error)") }
            isFailing = true
            return .failure(error)
        }
    }

    /// The rules, if they and the location that they may need are valid.
    private var validRules: SigmaRuleset? {
        guard let rules = valid(rules), !rules.wantsPlace || valid(place) != nil else { return nil }
        return rules
    }

    /// Returns what is still valid; a date in the future means that the clock was set back.
    private func valid<Value>(_ kept: (value: Value, date: Date)?) -> Value? {
        guard let kept else { return nil }
        let age = time.now.timeIntervalSince(kept.date)
        return age >= 0 && age <= Double(service.configuration.cacheLifetime.components.seconds) ? kept.value : nil
    }

    private func refresh() async throws(SigmaError) -> SigmaRuleset {
        await restore()
        let privateID = await profile.privateID()
        if valid(rules) == nil {
            do throws(SigmaNetworkError) {
                let fetched = try await service.configuration(privateID: privateID)
                // First: its age counts from now, however long the store takes.
                rules = (ruleset(fetched.root), time.now)
                try? await records.set(fetched.raw, .configuration)
            } catch {
                throw .requestConfigFailed(error)
            }
        }
        guard let fresh = rules?.value else { throw .requestConfigFailed(.noData) }
        guard fresh.wantsPlace, valid(place) == nil else { return fresh }
        do throws(SigmaNetworkError) {
            let found = try await service.place(privateID: privateID)
            setPlace(found)
            let bytes = try? JSON.encode(FlagValue.object(found.mapValues { .string($0) }))
            if let bytes { try? await records.set(bytes, .place) }
        } catch {
            guard !failsWithoutPlace else { throw .requestLocationFailed(error) }
            log.log(.warning, "sigma.place", "The location is unavailable; calls continue without: \(error)")
            // Kept as no location, so that there is still only one request per lifetime.
            setPlace([:])
        }
        return rules?.value ?? fresh
    }

    private func setPlace(_ value: [String: String]) {
        place = (value, time.now)
        rules = rules.map { ($0.value.at(value), $0.date) }
    }

    /// Restores an earlier run's state, once; what can't be read is fetched.
    private func restore() async {
        guard !isRestored else { return }
        isRestored = true
        service.configuration.device = await service.configuration.device.identified()
        if let entry = try? await records.entry(.place),
            let value = try? JSON.decode([String: String].self, from: entry.value)
        {
            place = (value, entry.date)
        }
        if let entry = try? await records.entry(.configuration), let bytes = valid(entry),
            let root = try? JSON.decode(SigmaWire.Root.self, from: bytes)
        {
            rules = (ruleset(root), entry.date)
        }
    }

    private func ruleset(_ root: SigmaWire.Root) -> SigmaRuleset {
        let place = root.useGeo ? place?.value : nil
        return SigmaRuleset(root, place: place ?? [:], configuration: service.configuration)
    }
}
