import AdapterKit
import Experimentation
import Foundation

/// A client's configuration and location: valid while they exist and are young enough, fetched on demand
/// with one request for all concurrent callers, and kept over restarts.
///
/// Nothing outlives its validity: if the service is unavailable, an expired configuration counts as none.
actor SigmaConfigurationCache {
    typealias Rules = (project: SigmaProject, surroundings: Surroundings)

    private var service: SigmaService
    private let records: SigmaRecords
    private let profile: SigmaProfile
    private let time: any TimeSource
    private let log: any LogSink
    private let failsWithoutPlace: Bool
    private var keptProject: (value: SigmaProject, date: Date)?
    private var keptPlace: (value: [String: String], date: Date)?
    private var isRestored = false
    private var isFailing = false
    private let request = SingleFlight<String, Result<Rules, SigmaError>>()

    init(_ service: SigmaService, records: SigmaRecords, profile: SigmaProfile, options: SigmaClientOptions) {
        self.service = service
        self.records = records
        self.profile = profile
        time = options.environment.time
        log = options.environment.log
        failsWithoutPlace = options.failsWithoutPlace
    }

    /// Returns valid rules, fetching what has expired.
    ///
    /// A cancelled caller leaves at once; the request continues for the others.
    func rules() async throws(SigmaError) -> Rules {
        if let project = valid(keptProject), let place = validPlace(for: project) { return rules(project, at: place) }
        let result: Result<Rules, SigmaError>
        do throws(ExperimentationError) {
            result = try await request("rules") { await self.fetch() }
        } catch {
            throw .requestConfigFailed(.urlError(error))
        }
        return try result.get()
    }

    private func fetch() async -> Result<Rules, SigmaError> {
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

    private func rules(_ project: SigmaProject, at place: [String: String]) -> Rules {
        (project, Surroundings(place: place, configuration: service.configuration))
    }

    /// Returns no location for a configuration that needs none, and `nil` if it must be requested.
    private func validPlace(for project: SigmaProject) -> [String: String]? {
        project.wantsPlace ? valid(keptPlace) : [:]
    }

    /// Returns what is still valid; a date in the future means that the clock was set back.
    private func valid<Value>(_ kept: (value: Value, date: Date)?) -> Value? {
        guard let kept else { return nil }
        let age = time.now.timeIntervalSince(kept.date)
        return age >= 0 && age <= Double(service.configuration.cacheLifetime.components.seconds) ? kept.value : nil
    }

    private func refresh() async throws(SigmaError) -> Rules {
        await restore()
        let privateID = await profile.privateID()
        let project = try await project(privateID)
        return rules(project, at: try await place(for: project, privateID))
    }

    private func project(_ privateID: String) async throws(SigmaError) -> SigmaProject {
        if let valid = valid(keptProject) { return valid }
        do throws(SigmaNetworkError) {
            let fetched = try await service.configuration(privateID: privateID)
            let new = SigmaProject(fetched.root, assuming: service.configuration.assumptions)
            // Set first, because its age counts from now, however long the store takes.
            keptProject = (new, time.now)
            try? await records.set(fetched.raw, .configuration)
            return new
        } catch {
            throw .requestConfigFailed(error)
        }
    }

    private func place(for project: SigmaProject, _ privateID: String) async throws(SigmaError) -> [String: String] {
        if let valid = validPlace(for: project) { return valid }
        do throws(SigmaNetworkError) {
            let found = try await service.place(privateID: privateID)
            keptPlace = (found, time.now)
            try? await records.encode(found, .place)
            return found
        } catch {
            guard !failsWithoutPlace else { throw .requestLocationFailed(error) }
            log.log(.warning, "sigma.place", "The location is unavailable; calls continue without: \(error)")
            // Kept as an empty location, so that there is still only one request per lifetime.
            keptPlace = ([:], time.now)
            return [:]
        }
    }

    /// Restores an earlier run's state, once; what can't be read is fetched.
    private func restore() async {
        guard !isRestored else { return }
        isRestored = true
        service.configuration.device = await service.configuration.device.identified()
        if let entry = try? await records.entry(.place),
            let value = try? JSON.decode([String: String].self, from: entry.value)
        {
            keptPlace = (value, entry.date)
        }
        if let entry = try? await records.entry(.configuration), let bytes = valid(entry),
            let root = try? JSON.decode(SigmaWire.Root.self, from: bytes)
        {
            keptProject = (SigmaProject(root, assuming: service.configuration.assumptions), entry.date)
        }
    }
}
