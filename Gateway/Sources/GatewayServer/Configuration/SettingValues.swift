import Configuration
import Experimentation
import Foundation
import SystemPackage

/// The values of settings: the environment overrides the file, which overrides the defaults.
///
/// Uses only throwing getters, because the others treat a value of the wrong type as missing.
struct SettingValues: Sendable {
    private let reader: ConfigReader
    private let file: URL
    private let settings: [String: Setting]

    /// Reads the file and the environment.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - variables: The environment.
    ///   - tenants: The tenants' names.
    /// - Throws: `ErrorCode.configuration`.
    init(file: URL, variables: [String: String], tenants: [String]) async throws(ExperimentationError) {
        self.file = file
        let all = Setting.all(of: tenants)
        settings = Dictionary(all.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        var defaults: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in all { defaults[AbsoluteConfigKey(ConfigKey(setting.key))] = setting.fallback }
        do {
            reader = ConfigReader(providers: [
                EnvironmentVariablesProvider(environmentVariables: variables).prefixKeys(with: "xp.gateway"),
                try await FileProvider<JSONSnapshot>(filePath: FilePath(file.path)),
                InMemoryProvider(name: "defaults", values: defaults),
            ])
        } catch {
            throw ExperimentationError(.configuration, "\(file.path): \(error)", cause: nil)
        }
    }

    func text(_ key: String) throws(ExperimentationError) -> String {
        try get(key, "a text") { try reader.requiredString(forKey: ConfigKey(key)) }
    }

    func texts(_ key: String) throws(ExperimentationError) -> [String] {
        try get(key, "a list of texts") { try reader.requiredStringArray(forKey: ConfigKey(key)) }
    }

    func whole(_ key: String) throws(ExperimentationError) -> Int {
        let number = try get(key, "a whole number") { try reader.requiredInt(forKey: ConfigKey(key)) }
        if case .whole(_, let range)? = settings[key]?.kind, !range.contains(number) {
            throw error(key, "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func number(_ key: String) throws(ExperimentationError) -> Double {
        let number = try get(key, "a number") { try reader.requiredDouble(forKey: ConfigKey(key)) }
        if case .number(_, let range)? = settings[key]?.kind, !range.contains(number) {
            throw error(key, "expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private func get<Value>(
        _ key: String,
        _ expected: String,
        _ read: () throws -> Value
    ) throws(ExperimentationError) -> Value {
        // The underlying error isn't shown: it may contain the value, which may be a misplaced secret.
        do { return try read() } catch { throw self.error(key, "expected \(expected)") }
    }

    private func error(_ key: String, _ problem: String) -> ExperimentationError {
        ExperimentationError(.configuration, "\(file.path): \"\(key)\": \(problem)")
    }
}
