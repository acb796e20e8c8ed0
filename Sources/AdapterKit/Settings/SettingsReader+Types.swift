import Experimentation

extension SettingsReader {
    /// Reads a required, non-empty string.
    public mutating func string(_ key: String) throws(ExperimentationError) -> String {
        guard let text = try optionalString(key) else { throw mismatch(key, "a text", nil) }
        guard !text.isEmpty else { throw error(key, "expected a text, found an empty one") }
        return text
    }

    /// Reads a string, or the default.
    public mutating func string(_ key: String, default value: String) throws(ExperimentationError) -> String {
        try optionalString(key) ?? value
    }

    /// Reads a string, or `nil`.
    public mutating func optionalString(_ key: String) throws(ExperimentationError) -> String? {
        guard let value = value(key) else { return nil }
        guard case .string(let text) = value else { throw mismatch(key, "a text", value) }
        return text
    }

    /// Reads a list of strings, or the default.
    public mutating func strings(_ key: String, default value: [String] = []) throws(ExperimentationError) -> [String] {
        guard let found = self.value(key) else { return value }
        guard case .array(let values) = found else { throw mismatch(key, "a list of texts", found) }
        var texts: [String] = []
        for (index, value) in values.enumerated() {
            guard case .string(let text) = value else { throw mismatch("\(key)[\(index)]", "a text", value) }
            texts.append(text)
        }
        return texts
    }

    /// Reads a Boolean, or the default.
    public mutating func bool(_ key: String, default value: Bool) throws(ExperimentationError) -> Bool {
        guard let found = self.value(key) else { return value }
        guard case .bool(let flag) = found else { throw mismatch(key, "true or false", found) }
        return flag
    }

    /// Reads an integer within a range, or the default.
    public mutating func int(
        _ key: String,
        default value: Int,
        in range: ClosedRange<Int> = Int.min...Int.max
    ) throws(ExperimentationError) -> Int {
        try optionalInt(key, in: range) ?? value
    }

    /// Reads an integer within a range, or `nil`.
    public mutating func optionalInt(
        _ key: String,
        in range: ClosedRange<Int> = Int.min...Int.max
    ) throws(ExperimentationError) -> Int? {
        guard let found = value(key) else { return nil }
        guard let number = found.intValue else { throw mismatch(key, "a whole number", found) }
        guard range.contains(number) else {
            throw error(key, "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads a number within a range, or the default.
    public mutating func double(
        _ key: String,
        default value: Double,
        in range: ClosedRange<Double> = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
    ) throws(ExperimentationError) -> Double {
        guard let found = self.value(key) else { return value }
        guard let number = found.doubleValue else { throw mismatch(key, "a number", found) }
        guard range.contains(number) else {
            throw error(key, "expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads a duration given in seconds, whole or fractional, or the default.
    public mutating func seconds(
        _ key: String,
        default value: Duration,
        in range: ClosedRange<Duration> = .zero...(.seconds(31_536_000))
    ) throws(ExperimentationError) -> Duration {
        try optionalSeconds(key, in: range) ?? value
    }

    /// Reads a duration given in seconds, whole or fractional, or `nil`.
    public mutating func optionalSeconds(
        _ key: String,
        in range: ClosedRange<Duration> = .zero...(.seconds(31_536_000))
    ) throws(ExperimentationError) -> Duration? {
        guard let found = value(key) else { return nil }
        guard let number = found.doubleValue else { throw mismatch(key, "a number of seconds", found) }
        // `Duration` traps on what it can't hold, so compare the number with the range first.
        guard number >= range.lowerBound / .seconds(1), number <= range.upperBound / .seconds(1) else {
            let (least, most) = (range.lowerBound / .seconds(1), range.upperBound / .seconds(1))
            throw error(key, "expected a number of seconds from \(least) to \(most)")
        }
        return .seconds(number)
    }

    /// Reads a required secret: a string, or `{"env": "NAME"}` for an environment variable.
    public mutating func secret(_ key: String) throws(ExperimentationError) -> Secret {
        guard let secret = try optionalSecret(key) else {
            throw mismatch(key, #"a text or {"env": "NAME"}"#, nil)
        }
        return secret
    }

    /// Reads a secret, or `nil` if the key is missing.
    public mutating func optionalSecret(_ key: String) throws(ExperimentationError) -> Secret? {
        guard let value = value(key) else { return nil }
        let expected = #"a text or {"env": "NAME"}"#
        switch value {
        case .string(let text):
            guard !text.isEmpty else { throw error(key, "expected \(expected), found an empty text") }
            return Secret(text)
        case .object(let fields):
            guard fields.count == 1, case .string(let name) = fields["env"] else {
                throw mismatch(key, expected, value)
            }
            guard let text = variable(name), !text.isEmpty else {
                throw error(key, "the environment variable \(name) isn't set")
            }
            return Secret(text)
        default:
            throw mismatch(key, expected, value)
        }
    }

    /// Reads a required address.
    public mutating func endpoint(_ key: String) throws(ExperimentationError) -> Endpoint {
        guard let endpoint = try optionalEndpoint(key) else { throw mismatch(key, "an https address", nil) }
        return endpoint
    }

    /// Reads an address, or the default.
    public mutating func endpoint(_ key: String, default value: Endpoint) throws(ExperimentationError) -> Endpoint {
        try optionalEndpoint(key) ?? value
    }

    /// Reads an address, or `nil`.
    public mutating func optionalEndpoint(_ key: String) throws(ExperimentationError) -> Endpoint? {
        guard let text = try optionalString(key) else { return nil }
        do throws(ExperimentationError) { return try Endpoint(text) } catch { throw self.error(key, error.message) }
    }

    /// Reads one of a type's cases by its raw value, or the default.
    public mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        default value: Choice
    ) throws(ExperimentationError) -> Choice {
        try optionalChoice(key) ?? value
    }

    /// Reads one of a type's cases by its raw value, or `nil`.
    public mutating func optionalChoice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        of type: Choice.Type = Choice.self
    ) throws(ExperimentationError) -> Choice? {
        guard let text = try optionalString(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw error(key, "expected one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }
}
