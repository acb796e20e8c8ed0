import Experimentation

/// Generates Swift source for the keys of a manifest; the same manifest always produces the same text.
public struct FlagKeySource {
    /// The access level of the keys.
    public enum Access: String, Sendable, CaseIterable {
        /// Visible in the module.
        case `internal`
        /// Visible to importing modules.
        case `public`
        /// Visible in the package.
        case package
    }

    private let manifest: FlagManifest
    private let file: String
    private let name: String
    private let access: String
    private var structures: [Structure] = []
    /// The flag that uses each Swift name.
    private var owners: [String: String] = [:]

    private struct Structure {
        var name: String
        var flag: String
        var properties: [ObjectShape.Property]
    }

    /// Whether the type that encloses the keys can have a name: not a word of Swift or a type that the keys use.
    public static func accepts(name: String) -> Bool {
        name.first?.isLetter == true && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
            && !SwiftName.isReserved(name)
    }

    /// Generates the source.
    ///
    /// - Parameters:
    ///   - manifest: The flags.
    ///   - file: The manifest's name, for the heading and for messages.
    ///   - name: The name of the enclosing type; see ``accepts(name:)``.
    ///   - access: The access level.
    /// - Returns: The source.
    /// - Throws: `ErrorCode.configuration` if two keys have the same Swift name, with the lines of both.
    public static func text(
        of manifest: FlagManifest,
        file: String,
        name: String = "Flags",
        access: Access = .internal
    ) throws(ExperimentationError) -> String {
        var source = FlagKeySource(manifest: manifest, file: file, name: name, access: access)
        return try source.text()
    }

    private init(manifest: FlagManifest, file: String, name: String, access: Access) {
        (self.manifest, self.file, self.name) = (manifest, file, name)
        self.access = access == .internal ? "" : access.rawValue + " "
    }

    private mutating func text() throws(ExperimentationError) -> String {
        var constants: [String] = []
        for flag in manifest.flags { constants.append(try constant(flag)) }
        let parts = constants + structures.map(declaration)
        let title = SwiftText.comment(file).first ?? "a manifest"
        return """
            // Generated from \(title). Change the manifest, not this file.

            import Experimentation

            /// The flags of \(title): their keys, types and defaults.
            \(access)enum \(name) {
            \(parts.joined(separator: "\n"))}

            """
    }

    // MARK: Constants

    private mutating func constant(_ flag: FlagManifest.Flag) throws(ExperimentationError) -> String {
        let name = SwiftName.member(flag.key)
        try claim(name, for: flag.key, line: flag.line)
        let type = try type(of: flag)
        let comment = SwiftText.comment(flag.description)
        let lines = comment.isEmpty ? ["The flag \(SwiftText.comment(flag.key).joined(separator: " "))."] : comment
        let declared = SwiftName.quoted(name)
        let value = literal(flag.defaultValue, type: flag.type, shape: flag.shape, name: type)
        return lines.map { "    /// \($0)\n" }.joined()
            + "    \(access)static let \(declared) = FlagKey<\(type)>(\(SwiftText.literal(flag.key)), default: \(value))\n"
    }

    private mutating func claim(_ name: String, for key: String, line: Int) throws(ExperimentationError) {
        guard let other = owners.updateValue(key, forKey: name) else { return }
        let first = manifest[other]?.line ?? 0
        throw ExperimentationError(
            .configuration,
            "\(file):\(max(first, line)): the keys \"\(other.shortened)\" (line \(first)) and \"\(key.shortened)\" (line \(line)) "
                + "are both \(name) in Swift; rename one"
        )
    }

    private mutating func type(of flag: FlagManifest.Flag) throws(ExperimentationError) -> String {
        switch flag.type {
        case .boolean: return "Bool"
        case .string: return "String"
        case .integer: return "Int"
        case .float: return "Double"
        case .object:
            guard let shape = flag.shape else { return "FlagValue" }
            return try type(of: shape, name: SwiftName.type(flag.key), flag: flag)
        }
    }

    private mutating func type(
        of shape: ObjectShape,
        name: String,
        flag: FlagManifest.Flag
    ) throws(ExperimentationError) -> String {
        switch shape {
        case .boolean: return "Bool"
        case .string: return "String"
        case .integer: return "Int"
        case .number: return "Double"
        case .any: return "FlagValue"
        case .list(let element): return "[" + (try type(of: element, name: name + "Element", flag: flag)) + "]"
        case .object(let properties):
            try claim(name, for: flag.key, line: flag.line)
            var members: Set<String> = []
            for property in properties {
                guard members.insert(SwiftName.property(property.name)).inserted else {
                    throw ExperimentationError(
                        .configuration,
                        "\(file):\(flag.line): flag \"\(flag.key.shortened)\": two properties of its schema are both "
                            + "\(SwiftName.property(property.name)) in Swift; rename one"
                    )
                }
                let inner = Self.name(of: property, in: name)
                _ = try type(of: property.shape, name: inner, flag: flag)
            }
            structures.append(Structure(name: name, flag: flag.key, properties: properties))
            return name
        }
    }

    private static func name(of property: ObjectShape.Property, in structure: String) -> String {
        SwiftName.type(property.name, of: structure)
    }

    /// Returns the type of a shape; its structures must be declared already.
    private static func written(_ shape: ObjectShape, name: String) -> String {
        switch shape {
        case .boolean: "Bool"
        case .string: "String"
        case .integer: "Int"
        case .number: "Double"
        case .any: "FlagValue"
        case .list(let element): "[" + written(element, name: name + "Element") + "]"
        case .object: name
        }
    }

    // MARK: Structures

    private func declaration(_ structure: Structure) -> String {
        let properties = structure.properties.map { property in
            (
                name: SwiftName.quoted(SwiftName.property(property.name)), key: property.name,
                type: Self.written(property.shape, name: Self.name(of: property, in: structure.name))
                    + (property.isRequired ? "" : "?"),
                isRequired: property.isRequired
            )
        }
        let fields = properties.map { "        \(access)var \($0.name): \($0.type)\n" }.joined()
        let parameters = properties.map { "\($0.name): \($0.type)" + ($0.isRequired ? "" : " = nil") }
        let assignments = properties.map { "            self.\($0.name) = \($0.name)\n" }.joined()
        let keys = properties.map {
            "            case \($0.name)" + ($0.name == $0.key ? "" : " = \(SwiftText.literal($0.key))") + "\n"
        }.joined()
        let coding =
            properties.isEmpty ? "" : "\n        private enum CodingKeys: String, CodingKey {\n\(keys)        }\n"
        let flag = SwiftText.comment(structure.flag.shortened).joined(separator: " ")
        return """
                /// What a value of the flag \(flag) consists of.
                \(access)struct \(structure.name): Codable, Sendable, Hashable {
            \(fields)
                    \(access)init(\(parameters.joined(separator: ", "))) {
            \(assignments)        }
            \(coding)    }

            """
    }

    // MARK: Defaults

    private func literal(_ value: FlagValue, type: FlagType, shape: ObjectShape?, name: String) -> String {
        switch type {
        case .boolean: "\(value.boolValue ?? false)"
        case .string: SwiftText.literal(value.stringValue ?? "")
        case .integer: "\(value.intValue ?? 0)"
        case .float: "\(value.doubleValue ?? 0)"
        case .object: shape.map { literal(value, $0, name: name) } ?? SwiftText.literal(value)
        }
    }

    private func literal(_ value: FlagValue, _ shape: ObjectShape, name: String) -> String {
        switch shape {
        case .boolean: return "\(value.boolValue ?? false)"
        case .string: return SwiftText.literal(value.stringValue ?? "")
        case .integer: return "\(value.intValue ?? 0)"
        case .number: return "\(value.doubleValue ?? 0)"
        case .any: return SwiftText.literal(value)
        case .list(let element):
            let inner = String(name.dropFirst().dropLast())
            return "[" + (value.arrayValue ?? []).map { literal($0, element, name: inner) }.joined(separator: ", ")
                + "]"
        case .object(let properties):
            let members = value.objectValue ?? [:]
            let arguments = properties.compactMap { property -> String? in
                guard let value = members[property.name], value != .null || property.shape == .any else { return nil }
                let type = Self.written(property.shape, name: Self.name(of: property, in: name))
                return SwiftName.label(SwiftName.property(property.name)) + ": "
                    + literal(value, property.shape, name: type)
            }
            return "\(name)(\(arguments.joined(separator: ", ")))"
        }
    }
}
