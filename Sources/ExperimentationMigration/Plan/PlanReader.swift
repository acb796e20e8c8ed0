import Experimentation

/// Reads an object of a plan member by member; rejects unknown members.
struct PlanReader {
    private var members: [String: FlagValue]
    private let place: String

    init(_ value: FlagValue, at place: String) throws(PlanFault) {
        guard case .object(let members) = value else { throw PlanFault(place, "expected an object") }
        self.members = members
        self.place = place
    }

    func path(_ key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    mutating func ignore(_ key: String) { members[key] = nil }

    /// Takes a member if it is a string; otherwise leaves it.
    mutating func plainText(_ key: String) -> String? {
        guard case .string(let text)? = members[key] else { return nil }
        members[key] = nil
        return text
    }

    mutating func text(_ key: String) throws(PlanFault) -> String? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard let text = value.stringValue else { throw PlanFault(path(key), "expected a text") }
        return text
    }

    mutating func requiredText(_ key: String) throws(PlanFault) -> String {
        guard let text = try text(key) else { throw PlanFault(path(key), "missing; expected a text") }
        return text
    }

    mutating func number(_ key: String) throws(PlanFault) -> Double? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard let number = value.doubleValue else { throw PlanFault(path(key), "expected a number") }
        return number
    }

    mutating func integer(_ key: String) throws(PlanFault) -> Int? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard let number = value.intValue else { throw PlanFault(path(key), "expected a whole number") }
        return number
    }

    mutating func bool(_ key: String) throws(PlanFault) -> Bool? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard let bool = value.boolValue else { throw PlanFault(path(key), "expected true or false") }
        return bool
    }

    mutating func object(_ key: String) throws(PlanFault) -> PlanReader? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        return try PlanReader(value, at: path(key))
    }

    mutating func list(_ key: String) throws(PlanFault) -> [PlanReader] {
        guard let value = members.removeValue(forKey: key) else { return [] }
        guard case .array(let values) = value else { throw PlanFault(path(key), "expected a list") }
        var readers: [PlanReader] = []
        for (index, value) in values.enumerated() {
            readers.append(try PlanReader(value, at: "\(path(key))[\(index)]"))
        }
        return readers
    }

    mutating func texts(_ key: String) throws(PlanFault) -> [String: String] {
        guard let reader = try object(key) else { return [:] }
        var texts: [String: String] = [:]
        for (name, value) in reader.members {
            guard let text = value.stringValue else { throw PlanFault(reader.path(name), "expected a variation's id") }
            texts[name] = text
        }
        return texts
    }

    mutating func numbers(_ key: String) throws(PlanFault) -> [String: Double] {
        guard let reader = try object(key) else { return [:] }
        var numbers: [String: Double] = [:]
        for (name, value) in reader.members {
            guard let number = value.doubleValue else { throw PlanFault(reader.path(name), "expected a number") }
            numbers[name] = number
        }
        return numbers
    }

    /// Rejects members that weren't read.
    func finish() throws(PlanFault) {
        if let key = members.keys.min() { throw PlanFault(path(key), "unknown member") }
    }

    /// Converts a word to a case of an enum.
    static func word<Word: RawRepresentable & CaseIterable>(
        _ text: String,
        _ key: String
    ) throws(PlanFault) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw PlanFault(key, "there is no \"\(text)\"; expected one of \(known)")
        }
        return word
    }
}
